#include "runtime/kernels/elementwise/half_loops.h"

#include <algorithm>
#include <bit>

#include "hwy/targets.h"
#include "runtime/kernels/elementwise/elementwise.h"
#include "runtime/kernels/elementwise/half_kernels.h"
#include "runtime/kernels/simd.h"

#if defined(__x86_64__) && defined(__GNUC__)
#define WICK_HALF_VECTORS 1
#include <immintrin.h>
#endif

namespace wick {
namespace {

inline __attribute__((always_inline)) void widen_loop(const BFloat16* from, float* to, int64_t n) {
  for (int64_t i = 0; i < n; ++i) to[i] = static_cast<float>(from[i]);
}
// Computes both cases, without a branch.
inline __attribute__((always_inline)) uint32_t rounded_bits(uint32_t u) {
  const uint32_t nan = (u >> 16) | 0x40, rounded = (u + 0x7FFF + ((u >> 16) & 1)) >> 16;
  return (u & 0x7FFFFFFF) > 0x7F800000 ? nan : rounded;
}
inline __attribute__((always_inline)) void narrow_loop(const float* from, BFloat16* to, int64_t n) {
  for (int64_t i = 0; i < n; ++i)
    to[i].bits = static_cast<uint16_t>(rounded_bits(std::bit_cast<uint32_t>(from[i])));
}
inline __attribute__((always_inline)) void round_loop(float* x, int64_t n) {
  for (int64_t i = 0; i < n; ++i)
    x[i] = std::bit_cast<float>(rounded_bits(std::bit_cast<uint32_t>(x[i])) << 16);
}

#ifdef WICK_HALF_VECTORS
// BFloat16: integer loops, which the compiler vectorizes for each target.
#define WICK_BFLOAT16_LOOPS(name, text)                                                          \
  __attribute__((target(text))) void widen_##name(const BFloat16* from, float* to, int64_t n) {  \
    widen_loop(from, to, n);                                                                     \
  }                                                                                              \
  __attribute__((target(text))) void narrow_##name(const float* from, BFloat16* to, int64_t n) { \
    narrow_loop(from, to, n);                                                                    \
  }                                                                                              \
  __attribute__((target(text))) void round_##name(float* x, int64_t n) { round_loop(x, n); }
WICK_BFLOAT16_LOOPS(avx2, "avx2")
WICK_BFLOAT16_LOOPS(avx512, "avx512f,avx512bw,avx512vl")
#undef WICK_BFLOAT16_LOOPS

#define WICK_F16C __attribute__((target("avx2,f16c")))
constexpr int kNearest = _MM_FROUND_TO_NEAREST_INT;

// Each returns the number of elements that it processed.
WICK_F16C int64_t widen_f16c(const Half* from, float* to, int64_t n) {
  int64_t i = 0;
  for (; i + 8 <= n; i += 8) {
    _mm256_storeu_ps(to + i,
                     _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from + i))));
  }
  return i;
}
WICK_F16C int64_t narrow_f16c(const float* from, Half* to, int64_t n) {
  int64_t i = 0;
  for (; i + 8 <= n; i += 8) {
    _mm_storeu_si128(reinterpret_cast<__m128i*>(to + i),
                     _mm256_cvtps_ph(_mm256_loadu_ps(from + i), kNearest));
  }
  return i;
}
WICK_F16C int64_t round_f16c(float* x, int64_t n) {
  int64_t i = 0;
  for (; i + 8 <= n; i += 8)
    _mm256_storeu_ps(x + i, _mm256_cvtph_ps(_mm256_cvtps_ph(_mm256_loadu_ps(x + i), kNearest)));
  return i;
}
bool has_avx512() { return (simd_targets() & (HWY_AVX3 | HWY_AVX3_DL)) != 0; }
bool has_avx2() { return has_avx512() || (simd_targets() & HWY_AVX2) != 0; }
#define WICK_BY_TARGET(f, ...)                      \
  if (has_avx512()) return f##_avx512(__VA_ARGS__); \
  if (has_avx2()) return f##_avx2(__VA_ARGS__)
#define WICK_HALF_VECTORS_OF(f, ...) has_avx2() ? f##_f16c(__VA_ARGS__) : 0
#else
#define WICK_BY_TARGET(f, ...)
#define WICK_HALF_VECTORS_OF(f, ...) 0
#endif

}  // namespace

void widen(const BFloat16* from, float* to, int64_t n) {
  WICK_BY_TARGET(widen, from, to, n);
  widen_loop(from, to, n);
}
void narrow(const float* from, BFloat16* to, int64_t n) {
  WICK_BY_TARGET(narrow, from, to, n);
  narrow_loop(from, to, n);
}
void round_to(float* x, int64_t n, BFloat16) {
  WICK_BY_TARGET(round, x, n);
  round_loop(x, n);
}
void widen(const Half* from, float* to, int64_t n) {
  for (int64_t i = WICK_HALF_VECTORS_OF(widen, from, to, n); i < n; ++i)
    to[i] = static_cast<float>(from[i]);
}
void narrow(const float* from, Half* to, int64_t n) {
  for (int64_t i = WICK_HALF_VECTORS_OF(narrow, from, to, n); i < n; ++i) to[i] = Half(from[i]);
}
void round_to(float* x, int64_t n, Half) {
  for (int64_t i = WICK_HALF_VECTORS_OF(round, x, n); i < n; ++i)
    x[i] = static_cast<float>(Half(x[i]));
}

namespace {

bool match(const KernelQuery& q) {
  if (!q.in[0].contiguous()) return false;  // the reference reads strides without a copy
  const DType from = q.in[0].dtype, to = q.out[0].dtype;
  if (from == DType::kF32 || from == DType::kBool) return is_16_bit_float(to);
  return is_16_bit_float(from) && to == DType::kF32;
}

template <class From, class To, class F>
void slices(ThreadPool* pool, const TensorView& in, const TensorView& out, const F& f) {
  parallel_items(pool, in.numel(), 1, [&](int64_t begin, int64_t end) {
    f(in.as<From>() + begin, out.as<To>() + begin, end - begin);
  });
}

Status run(const KernelCtx& ctx, Span<const TensorView> in, Span<TensorView> out, const void*) {
  const auto up = [](const auto* from, float* to, int64_t n) { widen(from, to, n); };
  const auto down = [](const float* from, auto* to, int64_t n) { narrow(from, to, n); };
  if (in[0].dtype == DType::kBool) {
    const uint16_t one = out[0].dtype == DType::kBF16 ? BFloat16(1.0f).bits : Half(1.0f).bits;
    slices<uint8_t, uint16_t>(ctx.pool, in[0], out[0],
                              [one](const uint8_t* from, uint16_t* to, int64_t n) {
                                for (int64_t i = 0; i < n; ++i) to[i] = from[i] != 0 ? one : 0;
                              });
  } else if (in[0].dtype == DType::kBF16) {
    slices<BFloat16, float>(ctx.pool, in[0], out[0], up);
  } else if (in[0].dtype == DType::kF16) {
    slices<Half, float>(ctx.pool, in[0], out[0], up);
  } else if (out[0].dtype == DType::kBF16) {
    slices<float, BFloat16>(ctx.pool, in[0], out[0], down);
  } else {
    slices<float, Half>(ctx.pool, in[0], out[0], down);
  }
  return {};
}

}  // namespace

WICK_HALF_ROWS(Cast, {"cast.16.simd", kContiguous, match, nullptr, nullptr, run});

}  // namespace wick
