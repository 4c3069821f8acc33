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
// that `parts` selects; `*t` receives the values' types.
const KernelRow* Binder::row_with(const PlanStep& step, int parts, Types* t) const {
  *t = types_of(step);
  for (TensorView& v : t->in) v.block = (parts & kBlocksIn) != 0 ? v.block : uint8_t{0};
  for (TensorView& v : t->out) v.block = (parts & kBlocksOut) != 0 ? v.block : uint8_t{0};
  const NodeDef& node = *step.node;
  return find_kernel(machine_.sets,
                     {node.op, node.attrs, t->in, t->out, machine_.threads, node.custom});
}

// Finds the kernel of a step; where there is none for the planned layouts, makes its outputs, its
// inputs or both unblocked. Returns whether that changes a layout.
bool Binder::settle_layout(PlanStep& step) {
  bool changed = false;
  const auto take = [&](uint32_t v, const TensorView& type) {
    changed = changed || values_[v].block != type.block;
    values_[v].block = type.block;
  };
  for (const int parts : {kBlocksIn | kBlocksOut, int{kBlocksIn}, int{kBlocksOut}, 0}) {
    Types t;
    const KernelRow* row = row_with(step, parts, &t);
    if (row == nullptr || !pays(*row, t.in, t.out)) continue;
    step.row = row;
    for (size_t i = 0; i < t.in.size(); ++i) {
      if (step.in[i] != kNoIndex) take(step.in[i], t.in[i]);
    }
    for (size_t i = 0; i < t.out.size(); ++i) take(step.out[i], t.out[i]);
    break;
  }
  return changed;
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
bool Binder::makes_blocks(const StagePlan& plan) const {
  for (const PlanStep& step : plan.steps) {
    bool wanted = false;
    for (uint32_t v : step.out) wanted = wanted || values_[v].block != 0;
    Types t;
    if (wanted && row_with(step, kBlocksOut, &t) != nullptr) return true;
  }
  return false;
}

void Binder::choose_layouts(StagePlan& plan) {
  for (const int block : {16, 8, 4}) {  // a machine has kernels for one of these sizes
    mark_candidates(plan, static_cast<uint8_t>(block));
    bool changed = makes_blocks(plan);
    for (int sweep = 0; changed && sweep < kMostSweeps; ++sweep) {
      changed = false;
      // Alternating directions spread a change over all steps in one sweep.
      for (size_t i = 0; i < plan.steps.size(); ++i) {
        PlanStep& step = plan.steps[sweep % 2 == 0 ? plan.steps.size() - 1 - i : i];
        if (step.row != nullptr) changed = settle_layout(step) || changed;
      }
      if (!changed) return;
    }
    mark_candidates(plan, 0);
  }
  for (PlanStep& step : plan.steps) {
    if (step.row != nullptr) settle_layout(step);
  }
}

}  // namespace wick
