// SIMD bodies of batch norm, softmax and log_softmax, once per target.
#if defined(WICK_KERNELS_NORM_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef WICK_KERNELS_NORM_INL_H_
#undef WICK_KERNELS_NORM_INL_H_
#else
#define WICK_KERNELS_NORM_INL_H_
#endif

#include "runtime/kernels/math/math-inl.h"
#include "runtime/kernels/reduce/reduce-inl.h"

HWY_BEFORE_NAMESPACE();
namespace wick {
namespace HWY_NAMESPACE {
namespace norm {

using simd_math::DF;
using simd_math::F;
using simd_math::fma;

// Applies f to n elements; the tail goes through a padded copy.
template <class Fn>
HWY_INLINE void map(const float* x, float* y, int64_t n, Fn f) {
  const DF d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  int64_t i = 0;
  for (; i + lanes <= n; i += lanes) hn::StoreU(f(F(hn::LoadU(d, x + i))).v, d, y + i);
  if (i < n) {
    HWY_ALIGN float buffer[hn::MaxLanes(d)] = {};
    for (int64_t j = i; j < n; ++j) buffer[j - i] = x[j];
    hn::Store(f(F(hn::Load(d, buffer))).v, d, buffer);
    for (int64_t j = i; j < n; ++j) y[j] = buffer[j - i];
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
  return log_form ? norm::softmax_rows<true, edition> : norm::softmax_rows<false, edition>;
}
static SoftmaxBody find_softmax(bool log_form, Edition edition) {
  return is_first(edition) ? softmax_of<Edition::k1>(log_form)
                           : softmax_of<kNewestEdition>(log_form);
}

}  // namespace HWY_NAMESPACE
}  // namespace wick
HWY_AFTER_NAMESPACE();

#endif
