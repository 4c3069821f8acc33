#include "runtime/kernels/half_loops.h"

#include <algorithm>
#include <cstring>

#include "runtime/kernels/half_kernels.h"

#if defined(__x86_64__) && defined(__GNUC__)
#define WICK_F16C 1
#include <immintrin.h>
#endif

namespace wick {
namespace {

inline __attribute__((always_inline)) void widen_loop(const BFloat16* from, float* to, int64_t n) {
  for (int64_t i = 0; i < n; ++i) to[i] = static_cast<float>(from[i]);
}
inline __attribute__((always_inline)) void narrow_loop(const float* from, BFloat16* to, int64_t n) {
  for (int64_t i = 0; i < n; ++i) {  // both ways are computed: no branch
    const uint32_t u = std::bit_cast<uint32_t>(from[i]);
    const uint32_t nan = (u >> 16) | 0x40, rounded = (u + 0x7FFF + ((u >> 16) & 1)) >> 16;
    to[i].bits = static_cast<uint16_t>((u & 0x7FFFFFFF) > 0x7F800000 ? nan : rounded);
  }
}

#ifdef WICK_F16C
bool has_vectors() {
  static const bool has = [] {
    __builtin_cpu_init();
    return __builtin_cpu_supports("avx2") != 0 && __builtin_cpu_supports("f16c") != 0;
  }();
  return has;
}
__attribute__((target("avx2"))) void widen_avx2(const BFloat16* from, float* to, int64_t n) {
  widen_loop(from, to, n);
}
__attribute__((target("avx2"))) void narrow_avx2(const float* from, BFloat16* to, int64_t n) {
  narrow_loop(from, to, n);
}
__attribute__((target("avx2,f16c"))) int64_t widen_f16c(const Half* from, float* to, int64_t n) {
  int64_t i = 0;
  for (; i + 8 <= n; i += 8) {
    _mm256_storeu_ps(to + i,
                     _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from + i))));
  }
  return i;
}
__attribute__((target("avx2,f16c"))) int64_t narrow_f16c(const float* from, Half* to, int64_t n) {
  int64_t i = 0;
  for (; i + 8 <= n; i += 8) {
    _mm_storeu_si128(reinterpret_cast<__m128i*>(to + i),
                     _mm256_cvtps_ph(_mm256_loadu_ps(from + i), _MM_FROUND_TO_NEAREST_INT));
  }
  return i;
}
#endif

}  // namespace

void widen(const BFloat16* from, float* to, int64_t n) {
#ifdef WICK_F16C
  if (has_vectors()) return widen_avx2(from, to, n);
#endif
  widen_loop(from, to, n);
}
void narrow(const float* from, BFloat16* to, int64_t n) {
#ifdef WICK_F16C
  if (has_vectors()) return narrow_avx2(from, to, n);
#endif
  narrow_loop(from, to, n);
}
void widen(const Half* from, float* to, int64_t n) {
  int64_t i = 0;
#ifdef WICK_F16C
  if (has_vectors()) i = widen_f16c(from, to, n);
#endif
  for (; i < n; ++i) to[i] = static_cast<float>(from[i]);
}
void narrow(const float* from, Half* to, int64_t n) {
  int64_t i = 0;
#ifdef WICK_F16C
  if (has_vectors()) i = narrow_f16c(from, to, n);
#endif
  for (; i < n; ++i) to[i] = Half(from[i]);
}

namespace {

bool is_16(DType t) { return t == DType::kF16 || t == DType::kBF16; }

bool match(const KernelQuery& q) {
  if (!q.in[0].contiguous()) return false;  // the reference walks strides without a copy
  const DType from = q.in[0].dtype, to = q.out[0].dtype;
  return (from == DType::kF32 && is_16(to)) || (is_16(from) && to == DType::kF32);
}

template <class From, class To, class F>
void slices(ThreadPool* pool, const TensorView& in, const TensorView& out, const F& f) {
  constexpr int64_t kSlice = 1 << 14;
  const From* from = in.as<From>();
  To* to = out.as<To>();
  const int64_t n = in.numel();
  parallel_for(pool, (n + kSlice - 1) / kSlice, [&](int64_t s, int) {
    f(from + s * kSlice, to + s * kSlice, std::min(kSlice, n - s * kSlice));
  });
}

Status run(const KernelCtx& ctx, Span<const TensorView> in, Span<TensorView> out, const void*) {
  const auto up = [](const auto* from, float* to, int64_t n) { widen(from, to, n); };
  const auto down = [](const float* from, auto* to, int64_t n) { narrow(from, to, n); };
  if (in[0].dtype == DType::kBF16) {
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
