#include "runtime/kernels/activation.h"
#include "runtime/kernels/blocked/blocked_rows.h"
#include "runtime/kernels/elementwise/half_kernels.h"
#include "runtime/kernels/product_rows.h"

namespace wick {

// They are alone in their file, so that nothing else links them, and weak, so that a program's own
// definition takes precedence even where the whole library is linked.
__attribute__((weak)) Span<const KernelSet* const> default_kernels() {
  static constexpr const KernelSet* kSets[] = {&kCpuKernels, &kProductKernels, &kBlockedSet,
                                               &kHalfKernels, &kReferenceKernels};
  return kSets;
}

__attribute__((weak)) Span<const ActivationKernel* const> activation_kernels() {
#define WICK_ACTIVATION(Name) &kActivation_##Name,
  static constexpr const ActivationKernel* kRows[] = {WICK_ACTIVATIONS(WICK_ACTIVATION)};
#undef WICK_ACTIVATION
  return kRows;
}

}  // namespace wick
