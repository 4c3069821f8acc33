#include "runtime/kernels/activation.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "runtime/kernels/activation.cc"
#include "hwy/foreach_target.h"

#include "hwy/highway.h"
#include "runtime/kernels/math/math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace wick {
namespace HWY_NAMESPACE {
namespace {
namespace hn = hwy::HWY_NAMESPACE;
using F = simd_math::F;

template <class Fn>
HWY_INLINE void map_vectors(float* y, int64_t n, Fn fn) {
  const hn::ScalableTag<float> d;
  for (int64_t i = 0; i < n; i += static_cast<int64_t>(hn::Lanes(d)))
    hn::StoreU(fn(simd_math::F(hn::LoadU(d, y + i))).v, d, y + i);
}

// NAME(edition) returns the loop of the activation, whose formula is that of x, alpha and beta.
#define WICK_ACTIVATION_LOOP(Name, formula)                                            \
  template <Edition edition>                                                           \
  void loop_##Name(float* y, int64_t n, [[maybe_unused]] float alpha,                  \
                   [[maybe_unused]] float beta) {                                      \
    map_vectors(y, n, [=](F x) HWY_ATTR { return simd_math::formula; });               \
  }                                                                                    \
  ActivationLoop Name(Edition edition) {                                               \
    return is_first(edition) ? loop_##Name<Edition::k1> : loop_##Name<kNewestEdition>; \
  }
WICK_ACTIVATION_LOOP(Sigmoid, sigmoid_in<edition>(x))
WICK_ACTIVATION_LOOP(Tanh, tanh_in<edition>(x))
WICK_ACTIVATION_LOOP(Silu, silu_in<edition>(x))
WICK_ACTIVATION_LOOP(GeluTanh, gelu_tanh_in<edition>(x))
#undef WICK_ACTIVATION_LOOP

// Those that every edition computes alike.
#define WICK_ACTIVATION_LOOP(Name, formula)                              \
  void loop_##Name(float* y, int64_t n, [[maybe_unused]] float alpha,    \
                   [[maybe_unused]] float beta) {                        \
    map_vectors(y, n, [=](F x) HWY_ATTR { return simd_math::formula; }); \
  }                                                                      \
  ActivationLoop Name(Edition) { return loop_##Name; }
WICK_ACTIVATION_LOOP(HardSwish, hard_swish(x))
WICK_ACTIVATION_LOOP(GeluErf, gelu(x))
WICK_ACTIVATION_LOOP(HardSigmoid, hard_sigmoid(x, F(alpha), F(beta)))
#undef WICK_ACTIVATION_LOOP

}  // namespace
// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace HWY_NAMESPACE
}  // namespace wick
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace wick {
#define WICK_ACTIVATION_KERNEL(Name)                   \
  HWY_EXPORT(Name);                                    \
  static ActivationLoop best_##Name(Edition edition) { \
    return HWY_DYNAMIC_DISPATCH(Name)(edition);        \
  }                                                    \
  constinit const ActivationKernel kActivation_##Name = {Activation::k##Name, best_##Name};
WICK_ACTIVATIONS(WICK_ACTIVATION_KERNEL)
#undef WICK_ACTIVATION_KERNEL

constexpr int loops() {
  int n = 0;
  for (const ActivationRow& row : kActivations)
    n += has_loop(row.activation) && factor_of(row.activation) == row.activation ? 1 : 0;
  return n;
}
#define WICK_ONE(Name) +1
static_assert(loops() == 0 WICK_ACTIVATIONS(WICK_ONE), "WICK_ACTIVATIONS lacks an activation");
#undef WICK_ONE

ActivationLoop activation_loop(Activation act, Edition edition) {
  for (const ActivationKernel* row : activation_kernels()) {
    if (row->act == factor_of(act)) return row->loop(edition);
  }
  return nullptr;
}
}  // namespace wick
#endif
