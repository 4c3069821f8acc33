// Defines a program's own kernel sets, with the ops that it selects. wick_selected_ops (CMake)
// writes
//
//   #define WICK_SELECTED_OPS(X) X(FusedConv, kSimd) X(Cast, kReference) X(Softmax, kAny)
//   #include "runtime/kernels/selected_ops.h"
//
// and, where the products' activations (activation.h) are not all wanted,
//
//   #define WICK_SELECTED_ACTIVATIONS(X) X(Silu)
//
// into one source file of the program, which defines default_kernels() and op_table() there: a
// static link then drops every kernel, rule and row of ops.def that is not listed.
#ifndef WICK_SELECTED_OPS
#error "define WICK_SELECTED_OPS(X) first: see the top of this file"
#endif
#ifndef WICK_SELECTED_ACTIVATIONS
#define WICK_SELECTED_ACTIVATIONS WICK_ACTIVATIONS
#endif

#include "runtime/kernels/activation.h"
#include "runtime/kernels/blocked/blocked_rows.h"
#include "runtime/kernels/elementwise/chain_rows.h"
#include "runtime/kernels/elementwise/half_kernels.h"
#include "runtime/kernels/kernel_set.h"
#include "runtime/kernels/product_rows.h"
#include "runtime/ops/op_table.h"

namespace wick {
namespace rules {
#define WICK_OP(Name, id, Attrs, signature, rule, Role, Kind, flags) \
  template <class D>                                                 \
  Status rule(RuleCtx<D>& c);
#include "runtime/ops/ops.def"
#undef WICK_OP
}  // namespace rules
namespace selected_ops {
namespace {

constexpr unsigned kSimd = 1, kReference = 2, kAny = kSimd | kReference;
constexpr unsigned kNarrow = 4;      // rows of half_kernels.h
constexpr unsigned kArithmetic = 8;  // chain_rows.h, for FusedElementwise
constexpr unsigned kBlocked = 16;    // blocked_rows.h, together with kSimd
constexpr unsigned kProducts = 32;   // product_rows.h

struct Choice {
  OpId op;
  unsigned sets;
};
constexpr Choice kChoices[] = {
#define X(Name, sets) {OpId::k##Name, sets},
    WICK_SELECTED_OPS(X)
#undef X
};

constexpr bool has(OpId op, unsigned set) {
  for (const Choice& c : kChoices) {
    if (c.op == op && (c.sets & set) != 0) return true;
  }
  return false;
}

// Chains name their steps by op: the rows of those are needed as well.
constexpr uint8_t kFlagsOf[] = {
#define WICK_OP(Name, id, Attrs, signature, rule, Role, Kind, flags) flags,
#include "runtime/ops/ops.def"
#undef WICK_OP
};
constexpr bool has_row(OpId op) {
  if (has(op, ~0u)) return true;
  size_t row = 0;
  while (ops_def::kIds[row] != op) ++row;
  if (has(OpId::kFusedElementwise, kAny)) return (kFlagsOf[row] & kChainStep) != 0;
  return has(OpId::kFusedElementwise, kArithmetic) &&
         (op == OpId::kAdd || op == OpId::kSub || op == OpId::kMul || op == OpId::kDiv);
}

// A set lists only selected ops: the others are not linked, neither their rows nor their entries.
template <size_t kCount>
struct Entries {
  KernelEntry list[kCount == 0 ? 1 : kCount] = {};
  constexpr Span<const KernelEntry> span() const { return {list, kCount}; }
};
// Counts by the choices and not by the pointers: with sanitizers GCC cannot compare those at
// compile time.
template <size_t N>
constexpr size_t count_of(const KernelEntry (&all)[N], unsigned set) {
  size_t n = 0;
  for (const KernelEntry& e : all) n += has(e.op, set) ? 1 : 0;
  return n;
}
template <size_t kCount, size_t N>
constexpr Entries<kCount> selected_of(const KernelEntry (&all)[N], unsigned set) {
  Entries<kCount> some;
  size_t n = 0;
  for (const KernelEntry& e : all) {
    if (has(e.op, set)) some.list[n++] = e;
  }
  return some;
}

#define WICK_ENTRY_kTrain(Rows, Name, set)
#define WICK_ENTRY_kControl(Rows, Name, set)
#define WICK_ENTRY_kInfer(Rows, Name, set) \
  {OpId::k##Name, has(OpId::k##Name, set) ? &Rows##Name : nullptr},
constexpr KernelEntry kAllSimd[] = {
#define WICK_OP(Name, id, Attrs, signature, rule, Role, Kind, flags) \
  WICK_ENTRY_##Role(kCpuRows_, Name, kSimd)
#include "runtime/ops/ops.def"
#undef WICK_OP
};
constexpr KernelEntry kAllReference[] = {
#define WICK_OP(Name, id, Attrs, signature, rule, Role, Kind, flags) \
  WICK_ENTRY_##Role(kRefRows_, Name, kReference)
#include "runtime/ops/ops.def"
#undef WICK_OP
};
#define WICK_NARROW_ENTRY(Name) \
  {OpId::k##Name, has(OpId::k##Name, kNarrow) ? &kHalfRows_##Name : nullptr},
constexpr KernelEntry kAllNarrow[] = {WICK_HALF_OPS(WICK_NARROW_ENTRY)};
#undef WICK_NARROW_ENTRY
#define WICK_PRODUCT_ENTRY(Name) \
  {OpId::k##Name, has(OpId::k##Name, kProducts) ? &kProductRows_##Name : nullptr},
constexpr KernelEntry kAllProducts[] = {WICK_PRODUCT_OPS(WICK_PRODUCT_ENTRY)};
#undef WICK_PRODUCT_ENTRY
#if WICK_BLOCKS
#define WICK_BLOCKED_ENTRY(Name) \
  {OpId::k##Name, has(OpId::k##Name, kBlocked) ? &kBlockedRows_##Name : nullptr},
constexpr KernelEntry kAllBlocked[] = {WICK_BLOCKED_OPS(WICK_BLOCKED_ENTRY)};
#undef WICK_BLOCKED_ENTRY
#else
constexpr KernelEntry kAllBlocked[] = {{}};
#endif
constexpr KernelEntry kAllArithmetic[] = {
    {OpId::kFusedElementwise,
     has(OpId::kFusedElementwise, kArithmetic) ? &kArithmeticRows_FusedElementwise : nullptr}};
#undef WICK_ENTRY_kTrain
#undef WICK_ENTRY_kControl
#undef WICK_ENTRY_kInfer

consteval auto make_rules() {
  std::array<Rule<int64_t>, op_tables::Parts<has_row>::kRows> rules{};
  size_t n = 0;
#define WICK_OP(Name, id, Attrs, signature, rule, Role, Kind, flags) \
  if (has_row(OpId::k##Name))                                        \
    rules[n++] = has(OpId::k##Name, ~0u) ? &rules::rule<int64_t> : nullptr;
#include "runtime/ops/ops.def"
#undef WICK_OP
  return rules;
}
constexpr auto kRules = make_rules();
constexpr OpTable kTable = op_tables::table_of<has_row>(kRules.data());

constexpr auto kSimdEntries = selected_of<count_of(kAllSimd, kSimd)>(kAllSimd, kSimd);
constexpr auto kBlockedEntries =
    selected_of<count_of(kAllBlocked, kBlocked)>(kAllBlocked, kBlocked);
constexpr auto kProductEntries =
    selected_of<count_of(kAllProducts, kProducts)>(kAllProducts, kProducts);
constexpr auto kNarrowEntries = selected_of<count_of(kAllNarrow, kNarrow)>(kAllNarrow, kNarrow);
constexpr auto kArithmeticEntries =
    selected_of<count_of(kAllArithmetic, kArithmetic)>(kAllArithmetic, kArithmetic);
constexpr auto kReferenceEntries =
    selected_of<count_of(kAllReference, kReference)>(kAllReference, kReference);
constexpr KernelSet kSimdSet = {"selected", kSimdEntries.span(), true};
constexpr KernelSet kBlockedSet = {"selected-blocked", kBlockedEntries.span(), true};
constexpr KernelSet kProductSet = {"selected-products", kProductEntries.span(), true};
constexpr KernelSet kNarrowSet = {"selected-narrow", kNarrowEntries.span(), true};
constexpr KernelSet kArithmeticSet = {"selected-arithmetic", kArithmeticEntries.span(), true};
constexpr KernelSet kReferenceSet = {"selected-reference", kReferenceEntries.span(), true};
constexpr const KernelSet* kSets[] = {&kSimdSet,   &kProductSet,    &kBlockedSet,
                                      &kNarrowSet, &kArithmeticSet, &kReferenceSet};

// The null keeps the list from being empty.
constexpr const ActivationKernel* kLinkedActivations[] = {
#define WICK_ACTIVATION(Name) &kActivation_##Name,
    WICK_SELECTED_ACTIVATIONS(WICK_ACTIVATION)
#undef WICK_ACTIVATION
        nullptr};

}  // namespace
}  // namespace selected_ops

Span<const KernelSet* const> default_kernels() { return selected_ops::kSets; }
Span<const ActivationKernel* const> activation_kernels() {
  return {selected_ops::kLinkedActivations, std::size(selected_ops::kLinkedActivations) - 1};
}
// Weak, since a program that has graphs as well needs the whole table (registry.cc).
__attribute__((weak)) const OpTable& op_table() { return selected_ops::kTable; }

}  // namespace wick
