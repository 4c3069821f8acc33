// Which values of a stage have their channels in blocks (TensorView::block). Convolutions and what
// stands between them are faster so, and no bit of a result depends on it. A value lies so where
// the step that makes it and all that read it have a kernel for that.
#include "runtime/exec/binder.h"

namespace wick {

namespace {

constexpr int kMostSweeps = 16;

// Of the values of a step, those that would lie in blocks.
enum Part : uint8_t { kBlocksIn = 1, kBlocksOut = 2 };

}  // namespace

// The step's kernel where only those of its values lie in blocks that are planned to and are in
// `parts`; `in` and `out` are its values then.
const KernelRow* Binder::row_with(const PlanStep& step, int parts, Span<TensorView> in,
                                  Span<TensorView> out) const {
  types_of(step, in, out);
  for (TensorView& v : in) v.block = (parts & kBlocksIn) != 0 ? v.block : uint8_t{0};
  for (TensorView& v : out) v.block = (parts & kBlocksOut) != 0 ? v.block : uint8_t{0};
  const NodeDef& node = *step.node;
  return find_kernel(machine_.sets, {node.op, node.attrs, in, out, machine_.threads, node.custom});
}

// Finds the kernel of a step; where there is none for its values as they are planned to lie, takes
// the blocks from its outputs, its inputs or both. *changed: it did.
Status Binder::settle_layout(PlanStep& step, bool* changed) {
  const ArenaScope scope(memory_.temp);
  WICK_ASSIGN(auto in, memory_.temp.array<TensorView>(step.in.size()));
  WICK_ASSIGN(auto out, memory_.temp.array<TensorView>(step.out.size()));
  for (const int parts : {kBlocksIn | kBlocksOut, int{kBlocksIn}, int{kBlocksOut}, 0}) {
    const KernelRow* row = row_with(step, parts, in, out);
    if (row == nullptr) continue;
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

// Values that some step of the CPU makes and only such steps of this stage read.
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
        const bool fits = made.dtype == DType::kF32 && made.shape.rank() == 4 &&
                          made.data == nullptr && values_.last_use[v] < plan.end;
        made.block = can && fits ? block : uint8_t{0};
      }
    }
  }
}

// Whether some step makes blocks of values that do not lie so.
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
  for (const int block : {16, 8, 4}) {  // a machine has kernels for one of them
    mark_candidates(plan, static_cast<uint8_t>(block));
    WICK_ASSIGN(bool changed, makes_blocks(plan));
    for (int sweep = 0; changed && sweep < kMostSweeps; ++sweep) {
      changed = false;
      for (size_t i = 0; i < plan.steps.size(); ++i) {  // to and fro: it spreads either way at once
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
