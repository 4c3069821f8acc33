#include "runtime/kernels/elementwise/half_kernels.h"

namespace wick {

#define WICK_HALF_ENTRY(Name) {OpId::k##Name, &kHalfRows_##Name},
static constexpr KernelEntry kHalfEntries[] = {WICK_HALF_OPS(WICK_HALF_ENTRY)};
#undef WICK_HALF_ENTRY

constinit const KernelSet kHalfKernels = {"half", kHalfEntries};

}  // namespace wick
