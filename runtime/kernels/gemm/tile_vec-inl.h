// Vector helpers of the tiles, per SIMD target: partial loads and stores.
#if defined(WICK_KERNELS_TILE_VEC_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef WICK_KERNELS_TILE_VEC_INL_H_
#undef WICK_KERNELS_TILE_VEC_INL_H_
#else
#define WICK_KERNELS_TILE_VEC_INL_H_
#endif

#include "hwy/highway.h"
#include "runtime/kernels/gemm/tile.h"
#include "runtime/kernels/math/math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace wick {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using TileTag = hn::ScalableTag<float>;
using TileVec = hn::Vec<TileTag>;

constexpr int kLanes = static_cast<int>(HWY_LANES(float));
// Rows x 3 accumulators, 3 vectors and a broadcast must fit the registers: AVX-512 and aarch64 have
// 32, other targets 16. Engines of WebAssembly need more of the 16 for themselves.
#if HWY_TARGET == HWY_AVX3 || HWY_ARCH_ARM_A64
constexpr int kMr = 8;
#elif HWY_ARCH_WASM
constexpr int kMr = 2;
#else
constexpr int kMr = 4;
#endif
constexpr int kNv = 3;

// Where the CPU has no masked moves, Highway's MaskedLoad may read whole vectors, and its
// BlendedStore rewrites a neighbour's elements; partial vectors go through a local buffer there.
#if HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_AVX3
constexpr bool kHaveMaskedMoves = true;
#else
constexpr bool kHaveMaskedMoves = false;
#endif

// Loads the first n lanes, the rest are zero; touches no memory beyond them.
HWY_INLINE TileVec load_n(const TileTag d, const float* p, int n) {
  if (n == kLanes) return hn::LoadU(d, p);
  if (kHaveMaskedMoves) return hn::MaskedLoad(hn::FirstN(d, static_cast<size_t>(n)), d, p);
  HWY_ALIGN float lanes[kLanes] = {};
  for (int i = 0; i < n; ++i) lanes[i] = p[i];
  return hn::Load(d, lanes);
}

HWY_INLINE void store_n(TileVec v, const TileTag d, float* p, int n) {
  if (n == kLanes) return hn::StoreU(v, d, p);
  if (kHaveMaskedMoves) return hn::BlendedStore(v, hn::FirstN(d, static_cast<size_t>(n)), d, p);
  HWY_ALIGN float lanes[kLanes];
  hn::Store(v, d, lanes);
  for (int i = 0; i < n; ++i) p[i] = lanes[i];
}

// Whether tiles fetch what comes next while they compute. Where a tile is small, the instructions
// for it cost more than they save.
constexpr bool kFetchesAhead = HWY_TARGET == HWY_AVX3;

// Targets that only old machines choose have fewer bodies, to keep programs small.
constexpr bool kFewBodies = HWY_TARGET == HWY_SCALAR || HWY_TARGET == HWY_SSE4;

enum class Walk { kStep, kRowTable, kVecTable };

// Hides a value from the loop optimizer, which would otherwise keep eight pointers instead of one
// index.
#define WICK_OPAQUE(x) asm("" : "+r"(x))

// Returns the lower bound of a clip; -infinity changes nothing, NaN included.
HWY_INLINE float lower_bound(const Epilogue& e) {
  if (e.act == Activation::kRelu) return 0.0f;
  return e.act == Activation::kClip ? e.alpha : -__builtin_huge_valf();
}

// Applies activations of one or two operations; others need a separate pass.
HWY_INLINE TileVec activate(const Epilogue& e, TileVec y) {
  using simd_math::F;
  switch (e.act) {
    case Activation::kRelu: return simd_math::relu(F(y)).v;
    case Activation::kClip: return simd_math::clip(F(y), F(e.alpha), F(e.beta)).v;
    case Activation::kLeakyRelu: return simd_math::leaky_relu(F(y), F(e.alpha)).v;
    default: return y;
  }
}

// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace HWY_NAMESPACE
}  // namespace wick
HWY_AFTER_NAMESPACE();

#endif  // WICK_KERNELS_TILE_VEC_INL_H_
