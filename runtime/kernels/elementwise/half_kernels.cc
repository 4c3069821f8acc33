#include "runtime/kernels/elementwise/half_kernels.h"

#include "runtime/kernels/entry_order.h"

namespace wick {

#define WICK_HALF_ENTRY(Name) {OpId::k##Name, &kHalfRows_##Name},
static constexpr KernelEntry kHalfEntries[] = {WICK_HALF_OPS(WICK_HALF_ENTRY)};
#undef WICK_HALF_ENTRY
static_assert(in_order(kHalfEntries), "find_kernel searches by halves");

constinit const KernelSet kHalfKernels = {"half", kHalfEntries};

}  // namespace wick
