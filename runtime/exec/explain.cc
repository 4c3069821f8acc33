// Reports where the present binding runs, for Session::explain().
#include "runtime/backend/explain.h"

#include "runtime/exec/session_impl.h"

namespace wick {

// Reports one region, stage by stage.
class Session::Explainer {
 public:
  Explainer(const Impl& impl, size_t region, ExplainHook& hook)
      : impl_(impl),
        region_(region),
        def_(impl.entry().regions[region]),
        hook_(hook),
        in_(impl.memory.allocator.inner()),
        out_(impl.memory.allocator.inner()) {}

  Status tell() {
    const Stage* stage = impl_.runner.regions()[region_];
    for (; stage != nullptr; stage = stage->next) {
      if (stage->plan.bound) WICK_TRY(tell(stage->plan));
    }
    return {};
  }

 private:
  Status tell(const StagePlan& stage) {
    stage_ = &stage;
    uint32_t node = stage.first;
    for (const BoundPartition& part : stage.partitions) {
      const bool device = !part.backend->in_host_memory();
      if (device) {
        for (uint32_t v : part.inputs) copy_in(part, v);
      }
      for (uint32_t s = part.first; s < part.first + part.count; ++s) {
        for (; &def_.nodes[node] != stage.steps[s].node; ++node)
          WICK_TRY(other(def_.nodes[node], "its values are known with the shapes: done once"));
        WICK_TRY(step(part, s));
        ++node;
      }
      part.compiled->explain(hook_);
      if (device) {
        for (uint32_t v : part.outputs) copy_out(part, v);
      }
    }
    for (; node < stage.end; ++node)
      WICK_TRY(other(def_.nodes[node], "its values are known with the shapes: done once"));
    if (stage.end == def_.nodes.size()) return {};
    const NodeDef& last = def_.nodes[stage.end];
    return other(last, region_count(last.op) > 0 ? "control flow: the host runs it"
                                                 : "only values decide its sizes");
  }

  Status views(const NodeDef& node) {
    auto all = [&](Span<const uint32_t> ids, Array<TensorView>& list) -> Status {
      list.clear();
      for (uint32_t v : ids) WICK_TRY(list.push_back(impl_.values.as_planned(v)));
      return {};
    };
    WICK_TRY(all(node.inputs, in_));
    return all(node.outputs, out_);
  }

  // Reports a node that is not a step of a run.
  Status other(const NodeDef& node, const char* why) {
    WICK_TRY(views(node));
    hook_.on_step({node.info->name, node.name, "cpu", "", why, -1, region_, in_, out_});
    return {};
  }

  Status step(const BoundPartition& part, uint32_t s) {
    const PlanStep& step = stage_->steps[s];
    const NodeDef& node = *step.node;
    WICK_TRY(views(node));
    PlacedStep placed = {node.info->name,
                         node.name,
                         part.backend->name(),
                         "",
                         "",
                         static_cast<int64_t>(stage_->first_step + s),
                         region_,
                         in_,
                         out_};
    if (part.backend->in_host_memory()) {
      const KernelRow* row = find_kernel(
          impl_.machine.sets, {node.op, node.attrs, in_, out_, impl_.machine.threads, node.custom});
      placed.kernel = step.alias ? "the same bytes" : row != nullptr ? row->name : "";
      if (!stage_->why.empty() && stage_->why[s] != nullptr) placed.why = stage_->why[s];
      if (impl_.left_backend[0] != '\0') placed.why = impl_.left_backend;
    }
    hook_.on_step(placed);
    return {};
  }

  // Reports which step of the stage made a value that is copied in.
  void copy_in(const BoundPartition& to, uint32_t value) {
    PlacedCopy copy = from(value, true);
    for (const BoundPartition& part : stage_->partitions) {
      if (&part == &to) break;
      for (const PlanStep& step : stage_->steps.subspan(part.first, part.count)) {
        for (uint32_t v : step.out) {
          if (v == value) end(part, step, &copy);
        }
      }
    }
    if (copy.op[0] == '\0' && !of_program(def_.inputs, value))
      copy.op = copy.node = "another stage";
    hook_.on_copy(copy);
  }

  // Reports which step of another partition reads a copied value first.
  void copy_out(const BoundPartition& made, uint32_t value) {
    PlacedCopy copy = from(value, false);
    for (const BoundPartition& part : stage_->partitions) {
      if (part.first <= made.first || copy.op[0] != '\0') continue;
      for (const PlanStep& step : stage_->steps.subspan(part.first, part.count)) {
        for (uint32_t v : step.in) {
          if (v == value && copy.op[0] == '\0') end(part, step, &copy);
        }
      }
    }
    if (copy.op[0] == '\0' && !of_program(def_.outputs, value))
      copy.op = copy.node = "another stage";
    hook_.on_copy(copy);
  }

  PlacedCopy from(uint32_t value, bool to_device) const {
    return {impl_.values[value].name, impl_.values.as_planned(value), to_device, "", "", "cpu"};
  }
  static void end(const BoundPartition& part, const PlanStep& step, PlacedCopy* copy) {
    copy->op = step.node->info->name;
    copy->node = step.node->name;
    copy->backend = part.backend->name();
  }
  // Returns whether the value is a port of the program itself; ports of other regions are in host
  // memory.
  bool of_program(Span<const uint32_t> ports, uint32_t value) const {
    if (region_ != 0) return false;
    for (uint32_t v : ports) {
      if (v == value) return true;
    }
    return false;
  }

  const Impl& impl_;
  size_t region_;
  const RegionDef& def_;
  ExplainHook& hook_;
  const StagePlan* stage_ = nullptr;
  Array<TensorView> in_, out_;
};

Status Session::explain(ExplainHook& hook) const {
  Turn turn(impl_->use);
  WICK_TRY(turn.take_to_look());
  for (size_t r = 0; r < impl_->runner.regions().size(); ++r)
    WICK_TRY(Explainer(*impl_, r, hook).tell());
  return {};
}

}  // namespace wick
