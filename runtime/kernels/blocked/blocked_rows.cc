#include "runtime/kernels/blocked/blocked_rows.h"

#include "runtime/kernels/entry_order.h"

namespace wick {
namespace {

#if WICK_BLOCKS
#define WICK_ENTRY(Name) {OpId::k##Name, &kBlockedRows_##Name},
constexpr KernelEntry kEntries[] = {WICK_BLOCKED_OPS(WICK_ENTRY)};
#undef WICK_ENTRY
static_assert(in_order(kEntries), "find_kernel searches by halves");
#else
constexpr Span<const KernelEntry> kEntries;
#endif

}  // namespace

constinit const KernelSet kBlockedSet = {"blocked", kEntries};

}  // namespace wick
