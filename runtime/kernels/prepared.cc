#include "runtime/kernels/prepared.h"

#include "runtime/kernels/flat_views.h"
#include "runtime/ops/op_cost.h"

namespace wick {

namespace {

// Whether a run takes less than a millisecond or two, for all that is known: then it does not pay
// to look at the clock within it. How long strings and packed values are a plan does not know.
bool is_brief(const KernelQuery& q) {
  constexpr double kBrief = 1 << 18;
  if (is_custom(q.op) || is_data_dependent(q.op)) return false;
  for (Span<const TensorView> list : {q.in, q.out}) {
    for (const TensorView& v : list) {
      if (v.dtype == DType::kString || is_container(v.dtype)) return false;
    }
  }
  return op_work(q.op, q.attrs, q.in, q.out) < kBrief;
}

}  // namespace

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
  brief_ = is_brief(whole);
  FlatViews flat;
  flat_ = WICK_SMALL == 0 && (row.flags & kBlocked) == 0 && has_blocks(query);
  if (flat_) {
    if (!flat.make(query.op, query.attrs, query.in, query.out))
      return Status(Code::kInternal, "no kernel for channels in blocks");
    whole.in = flat.in(), whole.out = flat.out();
  }
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
  FlatViews flat;
  if (flat_ && flat.make(op, attrs, in, out)) in = flat.in(), out = flat.out();
  Stop* stop = current_stop();
  if (stop == nullptr) return run_inner(*row_, ctx, in, out, attrs);
  const StopScope scope(brief_ ? nullptr : stop);
  Status ran = run_inner(*row_, ctx, in, out, attrs);
  // Of work that was skipped the kernel knows nothing; an error it tells then may be of that.
  return stop->is_set() ? stop->status() : ran;
}

}  // namespace wick
