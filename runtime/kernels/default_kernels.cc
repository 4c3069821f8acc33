#include "runtime/kernels/blocked/blocked_rows.h"
#include "runtime/kernels/elementwise/half_kernels.h"
#include "runtime/kernels/product_rows.h"

namespace wick {

// It is alone in its file, so that nothing else links it, and weak, so that a program's own
// definition takes precedence even where the whole library is linked.
__attribute__((weak)) Span<const KernelSet* const> default_kernels() {
  static constexpr const KernelSet* kSets[] = {&kCpuKernels, &kProductKernels, &kBlockedSet,
                                               &kHalfKernels, &kReferenceKernels};
  return kSets;
}

}  // namespace wick
