// SIMD body of relu, once per target.
#if defined(WICK_KERNELS_RELU_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef WICK_KERNELS_RELU_INL_H_
#undef WICK_KERNELS_RELU_INL_H_
#else
#define WICK_KERNELS_RELU_INL_H_
#endif

#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace wick {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

static void relu_f32(const float* x, float* y, size_t n) {
  const hn::ScalableTag<float> d;
  const auto zero = hn::Zero(d);
  size_t i = 0, lanes = hn::Lanes(d);
  // !(x <= 0) keeps NaN, unlike Max
  for (; i + lanes <= n; i += lanes) {
    auto v = hn::LoadU(d, x + i);
    hn::StoreU(hn::IfThenElse(hn::Le(v, zero), zero, v), d, y + i);
  }
  for (; i < n; ++i) y[i] = x[i] <= 0.0f ? 0.0f : x[i];
}

// Returns the body of the current target, which plan() stores.
static ReluBody relu_body() { return &relu_f32; }

}  // namespace HWY_NAMESPACE
}  // namespace wick
HWY_AFTER_NAMESPACE();

#endif
