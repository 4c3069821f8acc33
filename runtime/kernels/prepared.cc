#include "runtime/kernels/prepared.h"

namespace wick {

Status plan_inner(const KernelRow& row, const KernelQuery& query, KernelPlan* plan) {
  return row.plan != nullptr ? row.plan(query, plan) : Status();
}

Status run_inner(const KernelRow& row, const KernelCtx& ctx, Span<const TensorView> in,
                 Span<TensorView> out, const void* attrs) {
  return row.run(ctx, in, out, attrs);
}

Status PreparedKernel::prepare(const KernelRow& row, const KernelQuery& query) {
  if (row_ != nullptr) *this = PreparedKernel();
  row_ = &row;
  ShapeArgs args;
  KernelQuery whole = query;
  WICK_TRY(complete(&whole, &args));
  return plan_inner(row, whole, &plan_);
}

Status PreparedKernel::prepare(Span<const KernelSet* const> sets, const KernelQuery& query) {
  ShapeArgs args;
  KernelQuery whole = query;
  WICK_TRY(complete(&whole, &args));
  const KernelRow* row = find_kernel(sets, whole);
  if (row != nullptr) return prepare(*row, whole);
  return error(Code::kUnsupported, "no kernel for %s%s",
               query.in.empty() ? "no input" : dtype_name(query.in[0].dtype), why_missing(sets));
}

Status PreparedKernel::pack_all(const KernelQuery& query, Arena& arena) {
  for (int slot = 0; slot < kMaxPacked; ++slot) {
    const KernelPlan::Pack* want = pack_of(slot);
    if (want == nullptr || query.in[static_cast<size_t>(want->input)].data == nullptr) continue;
    WICK_ASSIGN(void* form, arena.allocate(want->bytes, kAlignment));
    WICK_TRY(pack(query, slot, form));
    packed_[slot] = form;
  }
  return {};
}

Status PreparedKernel::run(const KernelLoan& loan, OpId op, Span<const TensorView> in,
                           Span<TensorView> out, const void* attrs) const {
  bool empty = !out.empty() && !is_custom(op);
  for (size_t i = 0; i < out.size() && empty; ++i)
    empty = out[i].numel() == 0 && data_dependent_axis(op, attrs, i, out[i].rank()) < 0;
  if (empty) return {};
  KernelCtx ctx;
  ctx.pool = loan.pool;
  ctx.scratch = loan.scratch;
  ctx.plan = &plan_;
  ctx.strings = loan.strings;
  for (int slot = 0; slot < kMaxPacked; ++slot) ctx.packed[slot] = packed_[slot];
  return run_inner(*row_, ctx, in, out, attrs);
}

}  // namespace wick
