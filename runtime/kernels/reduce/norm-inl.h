// SIMD bodies of batch norm, softmax and log_softmax, once per target.
#if defined(WICK_KERNELS_NORM_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef WICK_KERNELS_NORM_INL_H_
#undef WICK_KERNELS_NORM_INL_H_
#else
#define WICK_KERNELS_NORM_INL_H_
#endif

#include "runtime/kernels/gemm/tile_vec-inl.h"
#include "runtime/kernels/math/math-inl.h"
#include "runtime/kernels/reduce/reduce-inl.h"

HWY_BEFORE_NAMESPACE();
namespace wick {
namespace HWY_NAMESPACE {
namespace norm {

using simd_math::DF;
using simd_math::F;
using simd_math::fma;

// Applies f to n elements.
template <class Fn>
HWY_INLINE void map(const float* x, float* y, int64_t n, Fn f) {
  const DF d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  int64_t i = 0;
  for (; i + lanes <= n; i += lanes) hn::StoreU(f(F(hn::LoadU(d, x + i))).v, d, y + i);
  const auto rest = static_cast<int>(n - i);
  if (rest > 0) store_n(f(F(load_n(d, x + i, rest))).v, d, y + i, rest);
}

// Applies f to n pairs of elements.
template <class Fn>
HWY_INLINE void map(const float* a, const float* b, float* y, int64_t n, Fn f) {
  const DF d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  int64_t i = 0;
  for (; i + lanes <= n; i += lanes)
    hn::StoreU(f(F(hn::LoadU(d, a + i)), F(hn::LoadU(d, b + i))).v, d, y + i);
  const auto rest = static_cast<int>(n - i);
  if (rest > 0) {
    const F left(load_n(d, a + i, rest)), right(load_n(d, b + i, rest));
    store_n(f(left, right).v, d, y + i, rest);
  }
}

// Applies scale and shift (per channel) to rows [begin, end) of [N * C, inner].
static void scale_shift(const float* x, const float* scale, const float* shift, int64_t channels,
                        int64_t inner, int64_t begin, int64_t end, float* y) {
  const DF d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  if (inner == 1) {  // vectors run over channels
    for (int64_t r = begin; r < end;) {
      int64_t c = r % channels;
      int64_t n = channels - c < end - r ? channels - c : end - r;
      int64_t i = 0;
      for (; i + lanes <= n; i += lanes) {
        F v = fma(F(hn::LoadU(d, x + r + i)), F(hn::LoadU(d, scale + c + i)),
                  F(hn::LoadU(d, shift + c + i)));
        hn::StoreU(v.v, d, y + r + i);
      }
      for (; i < n; ++i) {
        F v = fma(F(x[r + i]), F(scale[c + i]), F(shift[c + i]));
        y[r + i] = hn::GetLane(v.v);
      }
      r += n;
    }
    return;
  }
  Poll poll;
  for (int64_t r = begin; r < end; ++r) {
    const F s(scale[r % channels]), t(shift[r % channels]);
    for (int64_t at = 0, n; at < inner && !poll(n = poll.piece(inner - at)); at += n)
      map(x + r * inner + at, y + r * inner + at, n, [s, t](F v) HWY_ATTR { return fma(v, s, t); });
  }
}

template <bool log_form, Edition edition>
static void softmax_rows(const float* x, int64_t n, int64_t begin, int64_t end, float* y) {
  Poll poll;
  for (int64_t r = begin; r < end; ++r) {
    const float* p = x + r * n;
    float* q = y + r * n;
    float most = -__builtin_huge_valf();
    for (int64_t at = 0, some; at < n && !poll(some = poll.piece(n - at)); at += some)
      most = reduce::extreme_of<true>(most, p + at, some);
    const F largest(most);
    reduce::VectorSum sum;
    for (int64_t at = 0, some; at < n && !poll(some = 4 * poll.piece(n - at)); at += some) {
      some /= 4;
      map(p + at, q + at, some,
          [largest](F v) HWY_ATTR { return simd_math::exp_below_in<edition>(v - largest); });
      sum.add(q + at, some);
    }
    const F total(sum.finish());
    const F log_total = log_form ? simd_math::log(total) : total;
    for (int64_t at = 0, some; at < n && !poll(some = poll.piece(n - at)); at += some) {
      if (log_form) {
        map(p + at, q + at, some,
            [largest, log_total](F v) HWY_ATTR { return (v - largest) - log_total; });
      } else {
        map(q + at, q + at, some, [total](F v) HWY_ATTR { return v / total; });
      }
    }
  }
}

// Rows that lie beside each other: element i of row c is at i * stride + c. Vectors run over the
// rows, each of which has the arithmetic of softmax_rows.
constexpr int64_t kStrip = 256;
template <bool log_form, Edition edition>
static void softmax_columns(const float* x, int64_t n, int64_t stride, int64_t cols, float* y) {
  HWY_ALIGN float largest[kStrip], total[kStrip];
  Poll poll;
  for (int64_t c = 0; c < cols; c += kStrip, x += kStrip, y += kStrip) {
    const int64_t some = HWY_MIN(kStrip, cols - c);
    reduce::extreme_columns<true>(x, n, stride, some, largest);
    for (int64_t i = 0; i < n; ++i) {
      if (poll(4 * some)) return;
      map(x + i * stride, largest, y + i * stride, some,
          [](F v, F most) HWY_ATTR { return simd_math::exp_below_in<edition>(v - most); });
    }
    reduce::sum_columns(y, n, stride, some, total);
    if (log_form) map(total, total, some, [](F v) HWY_ATTR { return simd_math::log(v); });
    for (int64_t i = 0; i < n; ++i) {
      if (poll(some)) return;
      const float* p = x + i * stride;
      float* q = y + i * stride;
      if (log_form) {
        map(p, largest, q, some, [](F v, F most) HWY_ATTR { return v - most; });
        map(q, total, q, some, [](F v, F log_total) HWY_ATTR { return v - log_total; });
      } else {
        map(q, total, q, some, [](F v, F sum) HWY_ATTR { return v / sum; });
      }
    }
  }
}

// Rows of a few elements, which a vector would be too wide for, are turned to columns and back.
constexpr int64_t kShortRow = 16, kTurned = 64;
template <bool log_form, Edition edition>
static void softmax_short_rows(const float* x, int64_t n, int64_t rows, float* y) {
  float from[kShortRow * kTurned], to[kShortRow * kTurned];
  for (int64_t r = 0; r < rows && !stopped(); r += kTurned, x += kTurned * n, y += kTurned * n) {
    const int64_t some = HWY_MIN(kTurned, rows - r);
    for (int64_t c = 0; c < some; ++c) {
      for (int64_t i = 0; i < n; ++i) from[i * kTurned + c] = x[c * n + i];
    }
    softmax_columns<log_form, edition>(from, n, kTurned, some, to);
    for (int64_t c = 0; c < some; ++c) {
      for (int64_t i = 0; i < n; ++i) y[c * n + i] = to[i * kTurned + c];
    }
  }
}

// Rows [begin, end) of the array [rows / inner, n, inner], a row along the n.
template <bool log_form, Edition edition>
static void softmax(const float* x, int64_t n, int64_t inner, int64_t begin, int64_t end,
                    float* y) {
  if (inner == 1) {
    if (n > kShortRow || end - begin < 8)
      return softmax_rows<log_form, edition>(x, n, begin, end, y);
    const int64_t at = begin * n;
    return softmax_short_rows<log_form, edition>(x + at, n, end - begin, y + at);
  }
  for (int64_t r = begin, some; r < end && !stopped(); r += some) {
    some = HWY_MIN(inner - r % inner, end - r);
    const int64_t at = r / inner * n * inner + r % inner;
    softmax_columns<log_form, edition>(x + at, n, inner, some, y + at);
  }
}

// scale = gamma / sqrt(var + eps), shift = fma(-mean, scale, beta)
static void fold(const float* gamma, const float* beta, const float* mean, const float* var,
                 float epsilon, int64_t n, float* scale, float* shift) {
  Poll poll;
  for (int64_t i = 0; i < n && !poll(8); ++i) {
    F s = F(gamma[i]) / simd_math::sqrt(F(var[i]) + F(epsilon));
    scale[i] = hn::GetLane(s.v);
    shift[i] = hn::GetLane(simd_math::nfma(F(mean[i]), s, F(beta[i])).v);
  }
}

}  // namespace norm

static ScaleShiftBody find_scale_shift() { return norm::scale_shift; }
static FoldBody find_fold() { return norm::fold; }
template <Edition edition>
static SoftmaxBody softmax_of(bool log_form) {
  return log_form ? norm::softmax<true, edition> : norm::softmax<false, edition>;
}
static SoftmaxBody find_softmax(bool log_form, Edition edition) {
  return is_first(edition) ? softmax_of<Edition::k1>(log_form)
                           : softmax_of<kNewestEdition>(log_form);
}

}  // namespace HWY_NAMESPACE
}  // namespace wick
HWY_AFTER_NAMESPACE();

#endif
