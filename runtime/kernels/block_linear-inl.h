// SIMD bodies of BlockLinear, once per target: weights become reals in registers, as
// DequantizeLinear makes them, and meet x at once; or a panel of them is written for the tiles of
// tile.h. Lanes lie across rows of W, k ascends.
#if defined(WICK_KERNELS_BLOCK_LINEAR_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef WICK_KERNELS_BLOCK_LINEAR_INL_H_
#undef WICK_KERNELS_BLOCK_LINEAR_INL_H_
#else
#define WICK_KERNELS_BLOCK_LINEAR_INL_H_
#endif

#include "runtime/kernels/tile_vec-inl.h"

HWY_BEFORE_NAMESPACE();
namespace wick {
namespace HWY_NAMESPACE {
namespace block_linear {

using Words = hn::RebindToUnsigned<TileTag>;
using WordVec = hn::Vec<Words>;

// The lowest number of each word, less the zero point where that is one for all.
template <int kBits>
struct Numbers {
  TileVec zero;
  HWY_INLINE explicit Numbers(float z) : zero(hn::Set(TileTag(), z)) {}
  HWY_INLINE TileVec operator()(WordVec v) const {
    const auto low = hn::And(v, hn::Set(Words(), (1u << kBits) - 1));
    return hn::Sub(hn::ConvertTo(TileTag(), hn::BitCast(hn::RebindToSigned<TileTag>(), low)), zero);
  }
};
#if HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_AVX3_DL
// A table of all sixteen: its instruction reads the lowest four bits of an index.
template <>
struct Numbers<4> {
  TileVec table;
  HWY_INLINE explicit Numbers(float z)
      : table(hn::Sub(hn::Iota(TileTag(), 0), hn::Set(TileTag(), z))) {}
  HWY_INLINE TileVec operator()(WordVec v) const {
    return hn::TableLookupLanes(table, hn::Indices512<float>{v.raw});
  }
};
#endif

HWY_INLINE TileVec scale_at(const BlockPanel& p, int64_t at) {
  const TileTag d;
  if (!p.half) return hn::LoadU(d, static_cast<const float*>(p.scales) + at);
  const hn::Rebind<hwy::float16_t, TileTag> half;
  return hn::PromoteTo(d, hn::LoadU(half, static_cast<const hwy::float16_t*>(p.scales) + at));
}
HWY_INLINE TileVec zero_at(const BlockPanel& p, int64_t at) {
  const hn::RebindToSigned<TileTag> ints;
  const hn::Rebind<uint8_t, decltype(ints)> bytes;
  return hn::ConvertTo(TileTag(), hn::PromoteTo(ints, hn::LoadU(bytes, p.zeros + at)));
}

// f(k, weights of kVecs vectors) for k in [k0, k0 + depth).
template <int kBits, bool kZeros, int kVecs, class F>
HWY_INLINE void each_k(const BlockPanel& p, int64_t k0, int64_t depth, F f) {
  constexpr int kWidth = kVecs * kLanes, kOfWord = 32 / kBits;
  const Numbers<kBits> numbers(kZeros ? 0.0f : p.zero);
  const uint32_t* words = p.words + k0 / kOfWord * kWidth;
  const int64_t end = k0 + depth;
  for (int64_t k = k0; k < end;) {
    const int64_t block_at = k / p.block * kWidth, block_end = HWY_MIN(end, k + p.block);
    TileVec scale[kVecs], zero[kVecs];
#pragma GCC unroll 3
    for (int v = 0; v < kVecs; ++v) {
      scale[v] = scale_at(p, block_at + v * kLanes);
      if constexpr (kZeros) zero[v] = zero_at(p, block_at + v * kLanes);
    }
    while (k < block_end) {
      WordVec word[kVecs];
#pragma GCC unroll 3
      for (int v = 0; v < kVecs; ++v) word[v] = hn::LoadU(Words(), words + v * kLanes);
      words += kWidth;
      for (const int64_t stop = HWY_MIN(block_end, k + kOfWord); k < stop; ++k) {
        TileVec w[kVecs];
#pragma GCC unroll 3
        for (int v = 0; v < kVecs; ++v) {
          TileVec q = numbers(word[v]);
          if constexpr (kZeros) q = hn::Sub(q, zero[v]);
          w[v] = hn::Mul(q, scale[v]);
          word[v] = hn::ShiftRight<kBits>(word[v]);
        }
        f(k, w);
      }
    }
  }
}

template <int kBits, bool kZeros, int kRows, int kVecs>
HWY_NOINLINE void dot_body(const BlockDot& t) {
  const TileTag d;
  TileVec acc[kRows][kVecs];
  const float* row[kRows];
#pragma GCC unroll 4
  for (int r = 0; r < kRows; ++r) {
    row[r] = t.rows[HWY_MIN(r, t.row_count - 1)];
#pragma GCC unroll 3
    for (int v = 0; v < kVecs; ++v) acc[r][v] = hn::Zero(d);
  }
  each_k<kBits, kZeros, kVecs>(t.panel, 0, t.k, [&](int64_t k, const TileVec* w) HWY_ATTR {
#pragma GCC unroll 4
    for (int r = 0; r < kRows; ++r) {
      const TileVec x = hn::Set(d, row[r][k]);
#pragma GCC unroll 3
      for (int v = 0; v < kVecs; ++v) acc[r][v] = fused_mul_add(x, w[v], acc[r][v]);
    }
  });
  const int rest = t.cols - (kVecs - 1) * kLanes;
#pragma GCC unroll 4
  for (int r = 0; r < kRows; ++r) {
    if (r >= t.row_count) break;
#pragma GCC unroll 3
    for (int v = 0; v < kVecs; ++v) {
      const int n = v + 1 < kVecs ? kLanes : rest;
      if (t.bias != nullptr) acc[r][v] = hn::Add(acc[r][v], load_n(d, t.bias + v * kLanes, n));
      store_n(acc[r][v], d, t.out + r * t.out_step + v * kLanes, n);
    }
  }
}
template <int kBits, bool kZeros, int kRows>
HWY_INLINE void dot_cols(const BlockDot& t) {
  if (t.cols > 2 * kLanes) return dot_body<kBits, kZeros, kRows, 3>(t);
  if (t.cols > kLanes) return dot_body<kBits, kZeros, kRows, 2>(t);
  return dot_body<kBits, kZeros, kRows, 1>(t);
}
template <int kBits, bool kZeros>
HWY_INLINE void dot_rows(const BlockDot& t) {
  if (t.row_count > 1) return dot_cols<kBits, kZeros, kBlockRows>(t);
  dot_cols<kBits, kZeros, 1>(t);
}
static void dot(const BlockDot& t) {
  const bool zeros = t.panel.zeros != nullptr;
  if (t.panel.bits == 4) return zeros ? dot_rows<4, true>(t) : dot_rows<4, false>(t);
  return zeros ? dot_rows<8, true>(t) : dot_rows<8, false>(t);
}

template <int kBits, bool kZeros, int kVecs>
HWY_NOINLINE void unpack_body(const BlockPanel& p, int64_t k0, int64_t depth, float* to) {
  each_k<kBits, kZeros, kVecs>(p, k0, depth, [&](int64_t k, const TileVec* w) HWY_ATTR {
    float* line = to + (k - k0) * kVecs * kLanes;
#pragma GCC unroll 3
    for (int v = 0; v < kVecs; ++v) hn::StoreU(w[v], TileTag(), line + v * kLanes);
  });
}
template <int kBits, bool kZeros>
HWY_INLINE void unpack_cols(const BlockPanel& p, int64_t k0, int64_t depth, int width, float* to) {
  if (width > 2 * kLanes) return unpack_body<kBits, kZeros, 3>(p, k0, depth, to);
  if (width > kLanes) return unpack_body<kBits, kZeros, 2>(p, k0, depth, to);
  unpack_body<kBits, kZeros, 1>(p, k0, depth, to);
}
static void unpack(const BlockPanel& p, int64_t k0, int64_t depth, int width, float* to) {
  const bool zeros = p.zeros != nullptr;
  if (p.bits == 4) {
    return zeros ? unpack_cols<4, true>(p, k0, depth, width, to)
                 : unpack_cols<4, false>(p, k0, depth, width, to);
  }
  zeros ? unpack_cols<8, true>(p, k0, depth, width, to)
        : unpack_cols<8, false>(p, k0, depth, width, to);
}

}  // namespace block_linear

// Of the target chosen now.
static const BlockKernels* block_set() {
  static constexpr BlockKernels kSet = {&block_linear::dot, &block_linear::unpack};
  return &kSet;
}

}  // namespace HWY_NAMESPACE
}  // namespace wick
HWY_AFTER_NAMESPACE();

#endif
