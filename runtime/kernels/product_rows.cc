#include "runtime/kernels/product_rows.h"

#include "runtime/kernels/entry_order.h"

namespace wick {
namespace {

#define WICK_ENTRY(Name) {OpId::k##Name, &kProductRows_##Name},
constexpr KernelEntry kEntries[] = {WICK_PRODUCT_OPS(WICK_ENTRY)};
#undef WICK_ENTRY
static_assert(in_order(kEntries), "find_kernel searches by halves");

}  // namespace

constinit const KernelSet kProductKernels = {"products", kEntries};

}  // namespace wick
