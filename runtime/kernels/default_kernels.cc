#include "runtime/kernels/blocked_rows.h"
#include "runtime/kernels/half_kernels.h"

namespace wick {

// Alone in its file, so that nothing else brings it into a link; weak, so that a program's own also
// wins where the whole library is linked in.
__attribute__((weak)) Span<const KernelSet* const> default_kernels() {
  static constexpr const KernelSet* kSets[] = {&kCpuKernels, &kBlockedSet, &kHalfKernels,
                                               &kReferenceKernels};
  return kSets;
}

}  // namespace wick
