// The activations behind products that are more than a bound: one loop for each SIMD target. A
// program of selected ops (selected_ops.h) names those that it needs, and links no others.
#pragma once

#include <cstdint>

#include "runtime/core/edition.h"
#include "runtime/core/span.h"
#include "runtime/ops/activation.h"

namespace wick {

// Applies an activation to n numbers, which are whole vectors of the target.
using ActivationLoop = void (*)(float* y, int64_t n, float alpha, float beta);

struct ActivationKernel {
  Activation act;
  ActivationLoop (*loop)(Edition);  // of the best target (see simd.h)
};
#define WICK_ACTIVATIONS(X) \
  X(Sigmoid) X(Tanh) X(Silu) X(HardSwish) X(GeluErf) X(GeluTanh) X(HardSigmoid)
#define WICK_ACTIVATION_KERNEL(Name) extern const ActivationKernel kActivation_##Name;
WICK_ACTIVATIONS(WICK_ACTIVATION_KERNEL)
#undef WICK_ACTIVATION_KERNEL

// Returns the rows of this program. It is weak in the library, as default_kernels() is.
Span<const ActivationKernel* const> activation_kernels();

// Returns whether it is one of those; the others are done in registers.
constexpr bool has_loop(Activation act) { return act >= Activation::kSigmoid; }
// Returns the one whose loop it needs: kTimesX multiplies by what X gives.
constexpr Activation factor_of(Activation act) {
  if (act == Activation::kNone || !row_of(act).times) return act;
  for (const ActivationRow& factor : kActivations) {
    if (factor.op == row_of(act).op && factor.flag == row_of(act).flag && !factor.times)
      return factor.activation;
  }
  return act;
}
// Returns null where has_loop() says no and where the program has none.
ActivationLoop activation_loop(Activation act, Edition edition);

}  // namespace wick
