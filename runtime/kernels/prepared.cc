#include "runtime/kernels/prepared.h"

#include "runtime/core/byte_count.h"
#include "runtime/core/int_math.h"
#include "runtime/kernels/flat_views.h"
#include "runtime/ops/op_cost.h"

namespace wick {

namespace {

// Returns the op_work() of a run: without end where a plan does not know it, as the lengths of
// strings and packed values.
double work_of(const KernelQuery& q) {
  constexpr double kUnknown = __builtin_huge_val();
  if (is_custom(q.op) || is_data_dependent(q.op)) return kUnknown;
  for (Span<const TensorView> list : {q.in, q.out}) {
    for (const TensorView& v : list) {
      if (v.dtype == DType::kString || is_container(v.dtype)) return kUnknown;
    }
  }
  return op_work(q.op, q.attrs, q.in, q.out);
}

// The work of less than a millisecond or two: reading the clock within it does not pay.
constexpr double kBrief = 1 << 18;
// The work of a few microseconds: other threads would take as long to begin with it, and to fetch
// what this one has in its cache; and the next step to fetch what they have made.
#if defined(__x86_64__)
constexpr double kSmall = 3 << 17;
#else
constexpr double kSmall = 1 << 16;
#endif
constexpr uint64_t kBriefScratch = 1 << 20;  // in bytes; writing scratch takes time, too

// Plan and run a row that sees blocked values as plain tensors. Separate functions, since
// constructing so many views takes time.
constexpr char kNotFlat[] = "no kernel for channels in blocks";
__attribute__((noinline)) Status plan_flat(const KernelRow& row, KernelQuery query,
                                           KernelPlan* plan) {
  FlatViews flat;
  if (!flat.make(&query)) return Status(Code::kInternal, kNotFlat);
  WICK_TRY(plan_inner(row, query, plan));
  if (flat.turned_bytes() != 0)
    plan->scratch_bytes = byte_count(rounded(plan->scratch_bytes) + flat.turned_bytes());
  return {};
}
__attribute__((noinline)) Status run_flat(OpId op, const KernelRow& row, const KernelCtx& ctx,
                                          Span<const TensorView> in, Span<TensorView> out,
                                          const void* attrs) {
  FlatViews flat;
  if (!flat.make(op, attrs, in, out)) return Status(Code::kInternal, kNotFlat);
  if (flat.turned_bytes() != 0) {
    auto* end = static_cast<char*>(ctx.scratch) + ctx.plan->scratch_bytes;
    flat.turn(end - flat.turned_bytes(), ctx.pool);
  }
  return run_inner(row, ctx, flat.in(), flat.out(), attrs);
}
Status run_plain(OpId, const KernelRow& row, const KernelCtx& ctx, Span<const TensorView> in,
                 Span<TensorView> out, const void* attrs) {
  return run_inner(row, ctx, in, out, attrs);
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
  edition_ = query.edition;
  ShapeArgs args;
  KernelQuery whole = query;
  WICK_TRY(complete(&whole, &args));
  flat_ = WICK_BLOCKS != 0 && (row.flags & kBlocked) == 0 && has_blocks(query);
  const Status planned = flat_ ? plan_flat(row, whole, &plan_) : plan_inner(row, whole, &plan_);
  const double work = work_of(whole);
  brief_ = plan_.scratch_bytes < kBriefScratch && work < kBrief;
  is_small_ = work < kSmall;
  return planned;
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
  ctx.edition = edition_;
  for (int slot = 0; slot < kMaxPacked; ++slot) ctx.packed[slot] = packed_[slot];
  const auto run_it = flat_ ? &run_flat : &run_plain;
  Stop* stop = current_stop();
  if (stop == nullptr) return run_it(op, *row_, ctx, in, out, attrs);
  const StopScope scope(brief_ ? nullptr : stop);
  Status ran = run_it(op, *row_, ctx, in, out, attrs);
  // The kernel does not know that work was skipped, so an error that it returns may only be due to
  // that.
  return stop->is_set() ? stop->status() : ran;
}

}  // namespace wick
