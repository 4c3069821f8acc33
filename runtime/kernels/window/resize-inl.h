// SIMD bodies of Resize, once per target.
#if defined(WICK_KERNELS_RESIZE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef WICK_KERNELS_RESIZE_INL_H_
#undef WICK_KERNELS_RESIZE_INL_H_
#else
#define WICK_KERNELS_RESIZE_INL_H_
#endif

#include "hwy/highway.h"
#include "runtime/kernels/math/fused-inl.h"
#include "runtime/kernels/window/lookup-inl.h"

HWY_BEFORE_NAMESPACE();
namespace wick {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// An infinity with weight 0 must not affect a sum.
template <class D>
static HWY_INLINE void across_lanes(D d, const float* x, const ResizeRow& r, int64_t i, float* y) {
  const hn::RebindToSigned<D> ints;
  auto sum = hn::Zero(d);
  for (int64_t t = 0; t < r.taps; ++t) {
    const auto w = hn::LoadU(d, r.weight + t * r.step + i);
    const auto v = hn::GatherIndex(d, x, hn::LoadU(ints, r.at + t * r.step + i));
    sum = hn::IfThenElse(hn::Eq(w, hn::Zero(d)), sum, fused_mul_add(w, v, sum));
  }
  hn::StoreU(sum, d, y + i);
}
static void resize_across(const float* x, const ResizeRow& r, int64_t n, float* y) {
  const hn::ScalableTag<float> d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  int64_t i = 0;
  for (; i + lanes <= n; i += lanes) across_lanes(d, x, r, i, y);
  for (; i < n; ++i) across_lanes(hn::CappedTag<float, 1>(), x, r, i, y);
}

template <class D>
static HWY_INLINE void down_lanes(D d, const float* const* lines, const float* weight, int count,
                                  int64_t i, float* y) {
  auto sum = hn::Zero(d);
  for (int t = 0; t < count; ++t)
    sum = fused_mul_add(hn::Set(d, weight[t]), hn::LoadU(d, lines[t] + i), sum);
  hn::StoreU(sum, d, y + i);
}
static void resize_down(const float* const* lines, const float* weight, int count, int64_t n,
                        float* y) {
  const hn::ScalableTag<float> d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  int64_t i = 0;
  for (; i + lanes <= n; i += lanes) down_lanes(d, lines, weight, count, i, y);
  for (; i < n; ++i) down_lanes(hn::CappedTag<float, 1>(), lines, weight, count, i, y);
}

// Rounds products and sums separately, from the first product on, whatever the weights are.
// Positions ascend along a row, and from tap to tap.
static void interpolate_across(const float* x, int64_t readable, const ResizeRow& r, int64_t n,
                               float* y) {
  each_vector(n, [&](auto d, int64_t i) HWY_ATTR {
    const hn::RebindToSigned<decltype(d)> ints;
    const int64_t last = (r.taps - 1) * r.step + i + static_cast<int64_t>(hn::Lanes(d)) - 1;
    const Window window = window_of(d, r.at[i], r.at[last], readable);
    const auto part = [&](int64_t t) HWY_ATTR {
      const auto at = hn::Sub(hn::LoadU(ints, r.at + t * r.step + i),
                              hn::Set(ints, static_cast<int32_t>(window.from)));
      return hn::Mul(lookup(d, x + window.from, at, window.span),
                     hn::LoadU(d, r.weight + t * r.step + i));
    };
    auto sum = part(0);
    for (int64_t t = 1; t < r.taps; ++t) sum = hn::Add(sum, part(t));
    hn::StoreU(sum, d, y + i);
  });
}
static void interpolate_down(const float* const* lines, const float* weight, int count, int64_t n,
                             float* y) {
  each_vector(n, [&](auto d, int64_t i) HWY_ATTR {
    auto sum = hn::Mul(hn::LoadU(d, lines[0] + i), hn::Set(d, weight[0]));
    for (int t = 1; t < count; ++t)
      sum = hn::Add(sum, hn::Mul(hn::LoadU(d, lines[t] + i), hn::Set(d, weight[t])));
    hn::StoreU(sum, d, y + i);
  });
}

// Interpolates across blocked rows: the channels of a pixel share its weights.
template <bool kApart>
static void across_blocks(const float* x, const ResizeRow& r, int64_t begin, int64_t end,
                          int64_t block, float* y) {
  const hn::ScalableTag<float> d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  for (int64_t o = begin; o < end; ++o) {
    for (int64_t c = 0; c < block; c += lanes) {
      const auto pixel = [&](int64_t t) {
        return hn::LoadU(d, x + int64_t{r.at[t * r.step + o]} * block + c);
      };
      const auto weight = [&](int64_t t) { return r.weight[t * r.step + o]; };
      auto sum = kApart ? hn::Mul(pixel(0), hn::Set(d, weight(0))) : hn::Zero(d);
      for (int64_t t = kApart ? 1 : 0; t < r.taps; ++t) {
        if (kApart) {
          sum = hn::Add(sum, hn::Mul(pixel(t), hn::Set(d, weight(t))));
        } else if (weight(t) != 0) {
          sum = fused_mul_add(hn::Set(d, weight(t)), pixel(t), sum);
        }
      }
      hn::StoreU(sum, d, y + o * block + c);
    }
  }
}

// Returns the kernels of the current target.
static const ResizeKernels* resize_set() {
  static constexpr ResizeKernels kSet = {&resize_across,        &resize_down,
                                         &interpolate_across,   &interpolate_down,
                                         &across_blocks<false>, &across_blocks<true>};
  return &kSet;
}

}  // namespace HWY_NAMESPACE
}  // namespace wick
HWY_AFTER_NAMESPACE();

#endif
