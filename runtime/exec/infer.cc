// The binder's first half: shapes. It walks the nodes of a stage, runs the shape rules, and
// evaluates at once what is known (Shape -> Gather -> Concat -> Reshape chains never reach run()).
// A stage ends at a node whose output sizes depend on values.
#include "runtime/core/packed_sequence.h"
#include "runtime/exec/binder.h"
#include "runtime/kernels/blocked/blocked.h"
#include "runtime/kernels/prepared.h"
#include "runtime/ops/op_cost.h"

namespace wick {

// A rule knew the integers of its output (such as Shape's): they become its data.
Status Binder::write_elements(StagePlan& plan, uint32_t value, const ValueInfo<int64_t>& info) {
  PlanValue& v = values_[value];
  WICK_ASSIGN(auto data, plan.arena.array<int64_t>(static_cast<size_t>(info.element_count) + 1));
  for (int64_t i = 0; i < info.element_count; ++i) data[static_cast<size_t>(i)] = info.elements[i];
  v.data = data.data();
  return {};
}

Status Binder::evaluate(StagePlan& plan, const NodeDef& node, Span<const TensorView> in,
                        Span<TensorView> out) {
  for (TensorView& v : out) {
    WICK_ASSIGN(v.data, plan.arena.allocate(v.nbytes() + 1, kAlignment));
  }
  const KernelQuery query{node.op, node.attrs, in, out, 1, node.custom, nullptr, machine_.edition};
  PreparedKernel kernel;
  WICK_TRY(kernel.prepare(machine_.sets, query));
  WICK_ASSIGN(void* scratch, memory_.temp.allocate(kernel.scratch_bytes(), kAlignment));
  WICK_TRY(kernel.run({nullptr, scratch}, node.op, in, out, node.attrs));
  for (size_t i = 0; i < out.size(); ++i) {
    values_[node.outputs[i]].data = out[i].data;
    values_[node.outputs[i]].shape = out[i].shape;  // final now where it depended on data
    WICK_TRY(values_.check_declared(node.outputs[i]));
  }
  return {};
}

// Returns whether the node reads or produces a sequence or an optional.
bool Binder::touches_container(const NodeDef& node) const {
  for (uint32_t v : node.inputs) {
    if (v != kNoIndex && is_container(values_.entry.values[v].dtype)) return true;
  }
  for (uint32_t v : node.outputs) {
    if (is_container(values_.entry.values[v].dtype)) return true;
  }
  return false;
}

// Returns whether the node fits the remaining budget of work to evaluate while planning. Other
// nodes are left to the run, which has a deadline.
bool Binder::takes_work(const NodeDef& node, Span<const TensorView> in,
                        Span<const TensorView> out) {
  const double work = op_work(node.op, node.attrs, in, out);
  if (!(work <= work_left_)) return false;
  work_left_ -= work;
  return true;
}

Status Binder::infer_node(StagePlan& plan, const NodeDef& node, bool* live) {
  if (region_count(node.op) > 0 || touches_container(node)) return needs_value();
  const ArenaScope scope(memory_.temp);
  WICK_ASSIGN(auto in, memory_.temp.array<ValueInfo<int64_t>>(node.inputs.size()));
  WICK_ASSIGN(auto out, memory_.temp.array<ValueInfo<int64_t>>(node.outputs.size()));
  const auto [given, made] = types(in.size(), out.size());
  bool known = !makes_strings(node.op);  // strings belong to a run
  size_t bytes = 0;
  for (size_t i = 0; i < in.size(); ++i) {
    uint32_t id = node.inputs[i];
    const TensorView& view = given[i] = values_.as_planned(id);
    if (id == kNoIndex) continue;
    in[i].dtype = view.dtype;
    in[i].shape = view.shape;
    WICK_TRY(read_elements(view, holds_reals(node.op, i, view.dtype, view.rank()), memory_.temp,
                           &in[i]));
    known = known && view.data != nullptr;
    bytes += view.nbytes();
  }
  ShapeArgs args;  // where a kernel would lack these arguments the node is run apart
  RuleCtx<int64_t> ctx{node.op, node.attrs, in, out, node.custom, &args};
  WICK_TRY(infer_shapes(ctx));
  for (size_t i = 0; i < out.size(); ++i) {
    made[i] = TensorView(nullptr, out[i].dtype, out[i].shape);
    bytes += made[i].nbytes();
  }
  // Small nodes with known inputs and little work are evaluated now. Other nodes with
  // data-dependent sizes are run apart.
  const bool sized_by_data = is_data_dependent(node.op);
  known = known && bytes <= kMaxEvaluated && (!sized_by_data || takes_work(node, given, made));
  if (sized_by_data && !known) return needs_value();
  bool all_elements = true;
  for (size_t i = 0; i < out.size(); ++i) {
    PlanValue& v = values_[node.outputs[i]];
    v = PlanValue();
    v.name = values_.entry.values[node.outputs[i]].name;
    v.dtype = out[i].dtype;
    v.shape = out[i].shape;
    WICK_TRY(values_.check_dtype(node.outputs[i], v.dtype));
    if (!is_data_dependent(node.op)) WICK_TRY(values_.check_declared(node.outputs[i]));
    const bool has = out[i].elements != nullptr && v.dtype == DType::kI64;
    all_elements = all_elements && has;
    if (has) WICK_TRY(write_elements(plan, node.outputs[i], out[i]));
  }
  *live = !all_elements;
  if (known && (sized_by_data || (!all_elements && takes_work(node, given, made)))) {
    *live = false;
    return evaluate(plan, node, given, made);
  }
  return {};  // outputs of nodes that are not evaluated have their final shapes
}

Status Binder::infer(const RegionDef& def, StagePlan& plan) {
  WICK_ASSIGN(auto seen, memory_.temp.array<uint8_t>(values_.entry.values.size()));
  Array<Crossing> crossing(plan.allocator);
  Array<PlanStep> steps(plan.allocator);  // local: there may be as many stages as nodes
  for (plan.end = plan.first; plan.end < def.nodes.size(); ++plan.end) {
    const NodeDef& node = def.nodes[plan.end];
    for (uint32_t v : node.inputs) {
      if (v == kNoIndex || seen[v] != 0 || values_[v].data != nullptr) continue;
      if (is_container(values_.entry.values[v].dtype)) continue;  // no plan depends on its size
      seen[v] = 1;
      WICK_TRY(crossing.push_back({v, values_[v].shape}));
    }
    bool live = true;
    Status s = infer_node(plan, node, &live);
    if (s.code() == Code::kNeedsValue) break;
    WICK_TRY(annotate(s, "node %.60s (%s): ", node.name, node.info->name));
    for (uint32_t v : node.outputs) seen[v] = 1;
    if (!live) continue;
    WICK_TRY(steps.push_back({&node, node.inputs, node.outputs}));
    steps.back().writes_state = values_.writes_state(node.outputs[0]);
  }
  // their memory stays until the arena is cleared
  plan.steps = {steps.data(), steps.size()};
  plan.crossing = {crossing.data(), crossing.size()};
  return {};
}

Status Binder::plan(uint32_t region, uint32_t first, size_t first_step, StagePlan* plan) {
  const RegionDef& def = values_.entry.regions[region];
  plan->first = plan->end = first;
  plan->first_step = first_step;
  memory_.temp.clear();
  work_left_ = kMostWorkAhead;
  auto attempt = [&]() -> Status {
    WICK_ASSIGN(types_, memory_.temp.array<TensorView>(values_.most_operands));
    WICK_TRY(infer(def, *plan));
    WICK_TRY(choose_backends(*plan, def));
    if constexpr (WICK_BLOCKS != 0) {
      const bool plain = machine_.trace != nullptr && !machine_.trace->takes_blocks();
      if (!plain) choose_layouts(*plan);
    }
    WICK_TRY(place(*plan, def));
#if WICK_SMALL  // makes space for the steps and buffers; elsewhere it is kept
    memory_.temp.clear();
    memory_.temp.shrink();
#endif
    WICK_TRY(compile(*plan));
    return stopped() ? current_stop()->status() : Status();
  };
  Status s = attempt();
  const bool over = memory_.temp_allocator.take_over(), plan_over = plan->allocator.take_over();
  if (s.code() == Code::kOutOfMemory && (over || plan_over)) {
    s = error(Code::kBudgetExceeded, "max_ram: a plan needs more than the %zu bytes allowed",
              memory_.max_ram);
  }
  memory_.temp.clear();
  changed_ = true;
  plan->bound = true;  // so that unbind() drops what was computed
  if (!s.ok()) unbind(region, plan);
  return s;
}

void Binder::unbind(uint32_t region, StagePlan* plan) {
  for (BoundPartition& p : plan->partitions) {
    if (p.compiled != nullptr) p.compiled->free();
  }
  if (plan->bound) {  // what the plan computed is in its arena
    for (const NodeDef& node :
         values_.entry.regions[region].nodes.subspan(plan->first, plan->end - plan->first)) {
      for (uint32_t v : node.outputs) values_[v].data = nullptr;
    }
  }
  plan->crossing = {};
  plan->steps = {};
  plan->partitions = {};
  plan->why = {};
  plan->input_uses = {};
  plan->planned_bytes = 0;
  plan->bound = false;
  plan->arena.clear();
  changed_ = true;
}

}  // namespace wick
