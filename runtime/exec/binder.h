// Plans a stage for the present shapes of its values: first shapes (infer.cc), then backends and
// memory (place.cc).
#pragma once

#include <utility>

#include "runtime/exec/machine.h"
#include "runtime/exec/stage.h"
#include "runtime/exec/values.h"

namespace wick {

class Binder {
 public:
  Binder(SessionValues& values, SessionMemory& memory, Machine& machine)
      : values_(values), memory_(memory), machine_(machine) {}

  // Plans from node `first` of the region on. On error the plan is unbound.
  Status plan(uint32_t region, uint32_t first, size_t first_step, StagePlan* plan);
  // Drops what the plan computed and compiled; its memory is kept for the next plan.
  void unbind(uint32_t region, StagePlan* plan);
  // Returns whether a plan was made or dropped since the last call.
  bool take_changed() { return std::exchange(changed_, false); }

 private:
  // Tells how long each value of the entry is needed in a stage.
  struct Reach {
    Span<uint32_t> last_reader;  // last step of the stage that reads it; kNoIndex: read later
    Span<uint32_t> seen;         // equals `stamp` where the value was seen in this pass
    uint32_t stamp = 0;
  };

  // The tensors of one node. They stand in `types_` until those of another one are asked for.
  struct Types {
    Span<TensorView> in, out;
  };
  Types types(size_t in, size_t out) const {
    return {types_.subspan(0, in), types_.subspan(in, out)};
  }
  Types types_of(const PlanStep& step) const;

  Status infer(const RegionDef& def, StagePlan& plan);
  bool touches_container(const NodeDef& node) const;
  Status infer_node(StagePlan& plan, const NodeDef& node, bool* live);
  bool takes_work(const NodeDef& node, Span<const TensorView> in, Span<const TensorView> out);
  Status evaluate(StagePlan& plan, const NodeDef& node, Span<const TensorView> in,
                  Span<TensorView> out);
  Status write_elements(StagePlan& plan, uint32_t value, const ValueInfo<int64_t>& info);

  Status ask_backend(StagePlan& plan, const RegionDef& region, Span<uint8_t> taken);
  Status choose_backends(StagePlan& plan, const RegionDef& region);
  void mark_candidates(const StagePlan& plan, uint8_t block);
  const KernelRow* row_with(const PlanStep& step, int parts, Types* t) const;
  bool settle_layout(PlanStep& step);
  bool makes_blocks(const StagePlan& plan) const;
  void choose_layouts(StagePlan& plan);
  Status crossing_values(const StagePlan& plan, size_t first, size_t count, Arena& arena,
                         Reach& reach, PartitionSpec* spec) const;
  Result<Reach> reach_of(const StagePlan& plan);
  struct Homes;
  Status find_homes(const StagePlan& plan, Homes& homes);
  void take_over(const StagePlan& plan, Homes& homes) const;
  bool join_parts(const StagePlan& plan, Homes& homes) const;
  Status join(StagePlan& plan, Homes& homes, Span<size_t> offsets);
  Status place(StagePlan& plan, const RegionDef& region);
  Status compile(StagePlan& plan);

  SessionValues& values_;
  SessionMemory& memory_;
  Machine& machine_;
  Span<TensorView> types_;  // for the node with the most inputs and outputs
  double work_left_ = 0;    // op_work() that the present plan may still evaluate
  bool changed_ = true;
};

}  // namespace wick
