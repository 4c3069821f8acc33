#include "runtime/kernels/blocked/blocked_rows.h"

namespace wick {
namespace {

#if WICK_BLOCKS
#define WICK_ENTRY(Name) {OpId::k##Name, &kBlockedRows_##Name},
constexpr KernelEntry kEntries[] = {WICK_BLOCKED_OPS(WICK_ENTRY)};
#undef WICK_ENTRY
constexpr bool in_order() {
  for (size_t i = 1; i < sizeof(kEntries) / sizeof(kEntries[0]); ++i) {
    if (!(kEntries[i - 1].op < kEntries[i].op)) return false;
  }
  return true;
}
static_assert(in_order(), "find_kernel searches by halves");
#else
constexpr Span<const KernelEntry> kEntries;
#endif

}  // namespace

constinit const KernelSet kBlockedSet = {"blocked", kEntries};

}  // namespace wick
