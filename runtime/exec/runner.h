// Runs regions stage by stage (runner.cc), and between the stages the nodes whose sizes depend on
// values, If and Loop (control.cc).
#pragma once

#include "runtime/exec/binder.h"

namespace wick {

class Runner {
 public:
  Runner(SessionValues& values, SessionMemory& memory, Machine& machine, Binder& binder)
      : values_(values), memory_(memory), machine_(machine), binder_(binder) {}
  ~Runner();

  // Call it once, before the first plan.
  Status prepare();
  // Plans the first stage of the entry's body.
  Status plan_body() { return plan(0, nullptr, 0); }
  // Runs a region. Stages whose plan does not fit the values' shapes are planned first.
  Status run(uint32_t region, RunCtx& ctx);
  // Returns whether the body is one stage, and planned.
  bool whole() const;
  // For a body of one stage: runs everything before the last partition, starts that one and returns
  // it. Null: there was none.
  Result<Partition*> start(RunCtx& ctx);

  // Undoes what that run wrote into states in place.
  void undo(uint64_t run);

  // Drop the plans of the body, or of every region.
  void unbind_body() { unbind(1); }
  void unbind_all() { unbind(regions_.size()); }
  // Frees plans and their memory.
  void drop();

  // Returns the first stage of each region; null: none was planned yet.
  Span<Stage* const> regions() const { return regions_; }

 private:
  Status plan(uint32_t region, Stage* before, uint32_t first);
  void unbind(size_t regions);
  bool fits(const StagePlan& plan, uint32_t first) const;
  bool first_fits(uint32_t region) const;
  void enter(const StagePlan& plan);
  Status ready(const StagePlan& plan, RunCtx& ctx);
  Status run_apart(Stage& stage, const NodeDef& node, RunCtx& ctx);
  Status run_sized(Stage& stage, const NodeDef& node, RunCtx& ctx);
  Status run_if(const NodeDef& node, RunCtx& ctx);
  Status run_loop(Stage& stage, const NodeDef& node, RunCtx& ctx);
  Status stack(Buffer& buffer, const TensorView& part, int64_t count);
  Shape shape_without_trip(uint32_t region, uint32_t value);
  Status pass_in(const RegionDef& region, size_t to, const NodeDef& node, size_t from);
  Status read_bool(uint32_t value, bool* is) const;

  SessionValues& values_;
  SessionMemory& memory_;
  Machine& machine_;
  Binder& binder_;
  Span<Stage*> regions_;
};

}  // namespace wick
