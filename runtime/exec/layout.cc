// Chooses which values of a stage have blocked channels (TensorView::block). That makes
// convolutions and the ops between them faster and changes no bit of a result. A value is blocked
// where the step that makes it and all steps that read it have a kernel for it; a kernel may turn
// what is plain into blocks by itself.
#include "runtime/exec/binder.h"
#include "runtime/kernels/blocked/blocked.h"

namespace wick {

namespace {

constexpr int kMostSweeps = 16;

// Selects the values of a step that may be blocked.
enum Part : uint8_t { kBlocksIn = 1, kBlocksOut = 2 };

// Returns whether blocked outputs are worth what the step does for them. An elementwise row turns
// the plain operands of its output's size into blocks in every run (FlatViews). They should be no
// more than those that have blocks, each of which would otherwise be turned where it is made.
bool pays(const KernelRow& row, Span<const TensorView> in, Span<const TensorView> out) {
  if ((row.flags & kBlocked) != 0 || out.size() != 1 || out[0].block == 0) return true;
  size_t plain = 0, blocked = 0;
  for (const TensorView& v : in) {
    if (v.dtype == DType::kF32 && v.shape == out[0].shape) ++(v.block == 0 ? plain : blocked);
  }
  return plain <= blocked;
}

}  // namespace

// Returns the step's kernel when only those of its values are blocked that are planned to be and
// that `parts` selects; `in` and `out` receive the values' types.
const KernelRow* Binder::row_with(const PlanStep& step, int parts, Span<TensorView> in,
                                  Span<TensorView> out) const {
  types_of(step, in, out);
  for (TensorView& v : in) v.block = (parts & kBlocksIn) != 0 ? v.block : uint8_t{0};
  for (TensorView& v : out) v.block = (parts & kBlocksOut) != 0 ? v.block : uint8_t{0};
  const NodeDef& node = *step.node;
  return find_kernel(machine_.sets, {node.op, node.attrs, in, out, machine_.threads, node.custom});
}

// Finds the kernel of a step; where there is none for the planned layouts, makes its outputs, its
// inputs or both unblocked. Sets *changed if that changes a layout.
Status Binder::settle_layout(PlanStep& step, bool* changed) {
  const ArenaScope scope(memory_.temp);
  WICK_ASSIGN(auto in, memory_.temp.array<TensorView>(step.in.size()));
  WICK_ASSIGN(auto out, memory_.temp.array<TensorView>(step.out.size()));
  for (const int parts : {kBlocksIn | kBlocksOut, int{kBlocksIn}, int{kBlocksOut}, 0}) {
    const KernelRow* row = row_with(step, parts, in, out);
    if (row == nullptr || !pays(*row, in, out)) continue;
    step.row = row;
    for (size_t i = 0; i < in.size(); ++i) {
      if (step.in[i] == kNoIndex) continue;
      *changed = *changed || values_[step.in[i]].block != in[i].block;
      values_[step.in[i]].block = in[i].block;
    }
    for (size_t i = 0; i < out.size(); ++i) {
      *changed = *changed || values_[step.out[i]].block != out[i].block;
      values_[step.out[i]].block = out[i].block;
    }
    return {};
  }
  return {};
}

// Marks the values that a CPU step makes and only CPU steps of this stage read. A value of few
// channels is none of them, so that no other one gives up its blocks because of it.
void Binder::mark_candidates(const StagePlan& plan, uint8_t block) {
  for (const BoundPartition& part : plan.partitions) {
    const bool host = part.backend->in_host_memory();
    for (const PlanStep& step : plan.steps.subspan(part.first, part.count)) {
      const bool can = host && !step.alias;
      for (uint32_t v : step.in) {
        if (v != kNoIndex && !can) values_[v].block = 0;
      }
      for (uint32_t v : step.out) {
        PlanValue& made = values_[v];
        const bool fits = block != 0 && made.dtype == DType::kF32 && made.shape.rank() == 4 &&
                          fills_blocks(block, made.shape[1]) && made.data == nullptr &&
                          values_.last_use[v] < plan.end;
        made.block = can && fits ? block : uint8_t{0};
      }
    }
  }
}

// Returns whether some step can make blocked outputs from unblocked inputs.
Result<bool> Binder::makes_blocks(const StagePlan& plan) {
  for (const PlanStep& step : plan.steps) {
    bool wanted = false;
    for (uint32_t v : step.out) wanted = wanted || values_[v].block != 0;
    if (!wanted) continue;
    const ArenaScope scope(memory_.temp);
    WICK_ASSIGN(auto in, memory_.temp.array<TensorView>(step.in.size()));
    WICK_ASSIGN(auto out, memory_.temp.array<TensorView>(step.out.size()));
    if (row_with(step, kBlocksOut, in, out) != nullptr) return true;
  }
  return false;
}

Status Binder::choose_layouts(StagePlan& plan) {
  for (const int block : {16, 8, 4}) {  // a machine has kernels for one of these sizes
    mark_candidates(plan, static_cast<uint8_t>(block));
    WICK_ASSIGN(bool changed, makes_blocks(plan));
    for (int sweep = 0; changed && sweep < kMostSweeps; ++sweep) {
      changed = false;
      // Alternating directions spread a change over all steps in one sweep.
      for (size_t i = 0; i < plan.steps.size(); ++i) {
        PlanStep& step = plan.steps[sweep % 2 == 0 ? plan.steps.size() - 1 - i : i];
        if (step.row != nullptr) WICK_TRY(settle_layout(step, &changed));
      }
      if (!changed) return {};
    }
    mark_candidates(plan, 0);
  }
  bool unused = false;
  for (PlanStep& step : plan.steps) {
    if (step.row != nullptr) WICK_TRY(settle_layout(step, &unused));
  }
  return {};
}

}  // namespace wick
