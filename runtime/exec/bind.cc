// Binding, first half: shapes. Walks the nodes of a stage, runs the shape rules, and evaluates
// right away what is known (Shape -> Gather -> Concat -> Reshape chains never reach run()). A stage
// ends at a node whose sizes only values decide.
#include <cinttypes>
#include <cstring>

#include "runtime/core/packed_sequence.h"
#include "runtime/exec/session_impl.h"
#include "runtime/kernels/prepared.h"
#include "runtime/ops/op_cost.h"
#include "runtime/program/release.h"

namespace wick {
namespace {

constexpr size_t kMaxEvaluated = 64 * 1024;  // bytes in and out of a step evaluated at bind
constexpr size_t kMaxKept = 16 * 1024;       // bytes of a constant that a session copies

const char* op_name(const NodeDef& node) { return node.info->name; }

}  // namespace

// What lives as long as the session, by value of the entry.
Status Session::Impl::prepare() {
  if (!values.empty() || entry.values.empty()) return {};
  WICK_ASSIGN(symbols, frame.array<int64_t>(program.symbols().size()));
  WICK_ASSIGN(last_use, frame.array<uint32_t>(entry.values.size()));
  WICK_ASSIGN(views, frame.array<TensorView>(entry.values.size()));
  WICK_ASSIGN(auto made, frame.array<PlanValue>(entry.values.size()));
  for (const RegionDef& region : entry.regions) {
    for (uint32_t n = 0; n < region.nodes.size(); ++n) {
      for (uint32_t v : region.nodes[n].inputs) {
        if (v != kNoIndex) last_use[v] = n;
      }
    }
    for (uint32_t v : region.outputs) last_use[v] = kNoIndex;
  }
  for (uint32_t i = 0; i < made.size(); ++i) {
    has_strings = has_strings || entry.values[i].dtype == DType::kString ||
                  entry.values[i].element == DType::kString;
    if (entry.values[i].constant == kNoIndex) continue;
    const ConstantDef& c = program.constants()[entry.values[i].constant];
    made[i] = {entry.values[i].name,     c.view.dtype, c.view.shape, c.view.data, c.packed,
               entry.values[i].constant, c.source,     c.view.data};
    views[i] = c.view;
    WICK_TRY(keep(c, &made[i], &views[i]));
  }
  WICK_TRY(fill_read(made));
  WICK_TRY(held.reserve(entry.body().inputs.size()));
  while (regions.size() < entry.regions.size()) WICK_TRY(regions.push_back(RegionState(allocator)));
  values = made;
  return {};
}

// Small constants are copied out of a mapped file: whoever reads one there brings back all of a
// large page, and with it weights beside it that were packed and let go.
Status Session::Impl::keep(const ConstantDef& c, PlanValue* value, TensorView* view) {
  const size_t bytes = c.view.nbytes();
  if (c.source != nullptr || c.view.dtype == DType::kString || bytes > kMaxKept ||
      !is_mapped(program, c.view.data, bytes))
    return {};
  WICK_ASSIGN(void* copy, frame.allocate(bytes, kAlignment));
  if (bytes > 0) memcpy(copy, c.view.data, bytes);
  value->data = view->data = copy;
  return {};
}

// Constants that are read as they are, by anything but packing, must be there from now on. What is
// small enough to be evaluated at bind is, too; a device or a hook may look at all of them.
Status Session::Impl::fill_read(Span<PlanValue> constants) const {
  const bool all = backend != nullptr || trace != nullptr;
  auto fill = [&](uint32_t v) -> Status {
    if (v == kNoIndex || constants[v].source == nullptr) return {};
    return annotate(constants[v].source->fill(), "constant %.60s: ", constants[v].name);
  };
  for (uint32_t v = 0; v < constants.size(); ++v) {
    if (all || views[v].nbytes() <= kMaxEvaluated) WICK_TRY(fill(v));
  }
  for (const RegionDef& region : entry.regions) {
    for (uint32_t v : region.outputs) WICK_TRY(fill(v));
    for (const NodeDef& node : region.nodes) {
      for (size_t i = 0; i < node.inputs.size(); ++i) {
        if (node.custom != nullptr || !reads_packed(node.op, i)) WICK_TRY(fill(node.inputs[i]));
      }
    }
  }
  return {};
}

// The dtype is the one that a rule, a kernel or a caller gave the bytes, never what the file says
// of the value: were they to differ, bytes would be read as something else.
Status Session::Impl::set_value(uint32_t id, void* data, DType dtype, const Shape& shape) {
  WICK_TRY(check_dtype(id, dtype));
  values[id] = PlanValue();
  values[id].name = entry.values[id].name;
  values[id].dtype = dtype;
  values[id].shape = shape;
  views[id] = TensorView(data, dtype, shape);
  return {};
}

// Value `to` is value `from` under another id: what goes into a region or comes out of it.
Status Session::Impl::hand_on(uint32_t from, uint32_t to) {
  const TensorView v = views[from];
  return set_value(to, v.data, v.dtype, v.shape);
}

void Session::Impl::unbind(uint32_t region, Stage& stage) {
  for (BoundPartition& p : stage.partitions) {
    if (p.compiled != nullptr) p.compiled->free();
  }
  if (stage.bound) {  // what it computed lies in its arena
    for (const NodeDef& node :
         entry.regions[region].nodes.subspan(stage.first, stage.end - stage.first)) {
      for (uint32_t v : node.outputs) values[v].data = nullptr;
    }
  }
  stage.crossing = {};
  stage.steps = {};
  stage.partitions = {};
  stage.why = {};
  stage.input_uses = {};
  stage.planned_bytes = 0;
  stage.bound = false;
  counted = false;
  stage.arena.clear();
}

void Session::Impl::unbind() {
  if (!regions.empty()) {
    for (Stage* stage : regions[0].stages) unbind(0, *stage);
  }
  shapes.clear();
  bound = sized = false;
}

Status Session::Impl::check_inputs(Span<const Shape> given_shapes) {
  auto ports = entry.body().inputs;
  if (given_shapes.size() != ports.size()) {
    return error(Code::kInvalidArgument, "%zu inputs given, the program takes %zu",
                 given_shapes.size(), ports.size());
  }
  for (size_t i = 0; i < ports.size(); ++i) {
    const ValueDef& v = entry.values[ports[i]];
    const Shape& s = given_shapes[i];
    auto bytes = checked_bytes(s, dtype_bits(v.dtype));
    if (!bytes.ok()) return annotate(bytes.status(), "input %.60s: ", v.name);
    if (v.unranked) continue;
    if (static_cast<size_t>(s.rank()) != v.dims.size()) {
      return error(Code::kShapeMismatch, "input %.60s: %s has rank %d, the program says %zu",
                   v.name, to_text(s).text, s.rank(), v.dims.size());
    }
    for (int d = 0; d < s.rank(); ++d) {
      const DimDef& dim = v.dims[static_cast<size_t>(d)];
      if (dim.symbol < 0) {
        if (s[d] == dim.value) continue;
        return error(Code::kShapeMismatch, "input %.60s: dimension %d of %s should be %" PRId64,
                     v.name, d, to_text(s).text, dim.value);
      }
      const SymbolDef& symbol = program.symbols()[static_cast<size_t>(dim.symbol)];
      int64_t& extent = symbols[static_cast<size_t>(dim.symbol)];
      if (s[d] < symbol.min || s[d] > symbol.max) {
        return error(Code::kShapeMismatch,
                     "input %.60s: %.40s is %" PRId64 ", allowed are %" PRId64 " to %" PRId64,
                     v.name, symbol.name, s[d], symbol.min, symbol.max);
      }
      if (extent >= 0 && extent != s[d]) {
        return error(
            Code::kShapeMismatch,
            "input %.60s: %.40s is %" PRId64 " here and %" PRId64
            " in another dimension; where an ONNX file means two sizes by it, convert it with "
            "--own-sizes",
            v.name, symbol.name, s[d], extent);
      }
      extent = s[d];
    }
  }
  return {};
}

// A rule knew the integers of its output (Shape): they become its data.
Status Session::Impl::write_elements(Stage& stage, uint32_t value, const ValueInfo<int64_t>& info) {
  PlanValue& v = values[value];
  WICK_ASSIGN(auto data, stage.arena.array<int64_t>(static_cast<size_t>(info.element_count) + 1));
  for (int64_t i = 0; i < info.element_count; ++i) data[static_cast<size_t>(i)] = info.elements[i];
  v.data = data.data();
  return {};
}

Status Session::Impl::check_dtype(uint32_t value, DType dtype) const {
  const ValueDef& def = entry.values[value];
  if (dtype == def.dtype) return {};
  return error(Code::kInvalidProgram, "value %u (%.60s) comes out as %s, the program declares %s",
               value, def.name, dtype_name(dtype), dtype_name(def.dtype));
}

Status Session::Impl::check_declared(uint32_t value) const {
  const ValueDef& def = entry.values[value];
  const PlanValue& v = values[value];
  bool fits = def.dtype == v.dtype &&
              (def.unranked || def.dims.size() == static_cast<size_t>(v.shape.rank()));
  for (size_t d = 0; fits && !def.unranked && d < def.dims.size(); ++d) {
    const DimDef& dim = def.dims[d];
    int64_t extent = v.shape[static_cast<int>(d)];
    if (dim.symbol < 0) {
      fits = dim.value == extent;
    } else if (int64_t known = symbols[static_cast<size_t>(dim.symbol)]; known >= 0) {
      fits = known == extent;
    }
  }
  if (fits && is_container(v.dtype)) {  // what callers are told of its elements
    WICK_ASSIGN(PackedSequence s, PackedSequence::open(views[value]));
    if (s.dtype() == def.element) return {};
    return error(Code::kInvalidProgram,
                 "value %u (%.60s) comes out with elements of %s, the program declares %s", value,
                 def.name, dtype_name(s.dtype()), dtype_name(def.element));
  }
  if (fits) return {};
  return error(Code::kInvalidProgram,
               "value %u (%.60s) comes out as %s %s, which is not what the program declares", value,
               def.name, dtype_name(v.dtype), to_text(v.shape).text);
}

Status Session::Impl::evaluate(Stage& stage, const NodeDef& node) {
  WICK_ASSIGN(auto in, temp.array<TensorView>(node.inputs.size()));
  WICK_ASSIGN(auto out, temp.array<TensorView>(node.outputs.size()));
  for (size_t i = 0; i < in.size(); ++i) {
    if (node.inputs[i] == kNoIndex) continue;
    const PlanValue& v = values[node.inputs[i]];
    in[i] = TensorView(const_cast<void*>(v.data), v.dtype, v.shape);
  }
  for (size_t i = 0; i < out.size(); ++i) {
    PlanValue& v = values[node.outputs[i]];
    out[i] = TensorView(nullptr, v.dtype, v.shape);
    WICK_ASSIGN(out[i].data, stage.arena.allocate(out[i].nbytes() + 1, kAlignment));
  }
  KernelQuery query{node.op, node.attrs, in, out, 1, node.custom};
  PreparedKernel kernel;
  WICK_TRY(kernel.prepare(sets, query));
  WICK_ASSIGN(void* scratch, temp.allocate(kernel.scratch_bytes(), kAlignment));
  WICK_TRY(kernel.run({nullptr, scratch}, node.op, in, out, node.attrs));
  for (size_t i = 0; i < out.size(); ++i) {
    values[node.outputs[i]].data = out[i].data;
    values[node.outputs[i]].shape = out[i].shape;  // final where it depended on data
    WICK_TRY(check_declared(node.outputs[i]));
  }
  return {};
}

// A sequence or an optional among what the node reads and gives.
bool Session::Impl::touches_container(const NodeDef& node) const {
  for (uint32_t v : node.inputs) {
    if (v != kNoIndex && is_container(entry.values[v].dtype)) return true;
  }
  for (uint32_t v : node.outputs) {
    if (is_container(entry.values[v].dtype)) return true;
  }
  return false;
}

// Whether the node is little enough work to be done now, beside what has been done for this plan.
// A run does what is not: it has a deadline.
bool Session::Impl::takes_work(const NodeDef& node, Span<const TensorView> in,
                               Span<const TensorView> out) {
  const double work = op_work(node.op, node.attrs, in, out);
  if (!(work <= work_left)) return false;
  work_left -= work;
  return true;
}

Status Session::Impl::infer_node(Stage& stage, const NodeDef& node, bool* live) {
  if (region_count(node.op) > 0 || touches_container(node)) return needs_value();
  WICK_ASSIGN(auto in, temp.array<ValueInfo<int64_t>>(node.inputs.size()));
  WICK_ASSIGN(auto out, temp.array<ValueInfo<int64_t>>(node.outputs.size()));
  WICK_ASSIGN(auto given, temp.array<TensorView>(node.inputs.size()));
  WICK_ASSIGN(auto made, temp.array<TensorView>(node.outputs.size()));
  bool known = !makes_strings(node.op);  // its bytes belong to a run
  size_t bytes = 0;
  for (size_t i = 0; i < in.size(); ++i) {
    uint32_t id = node.inputs[i];
    if (id == kNoIndex) continue;
    const PlanValue& v = values[id];
    const TensorView view(const_cast<void*>(v.data), v.dtype, v.shape);
    given[i] = view;
    in[i].dtype = v.dtype;
    in[i].shape = v.shape;
    WICK_TRY(read_elements(view, holds_reals(node.op, i, v.dtype, v.shape.rank()), temp, &in[i]));
    known = known && v.data != nullptr;
    bytes += view.nbytes();
  }
  ShapeArgs args;  // what a kernel will need must be known now, or the node runs apart
  RuleCtx<int64_t> ctx{node.op, node.attrs, in, out, node.custom, &args};
  WICK_TRY(infer_shapes(ctx));
  for (size_t i = 0; i < out.size(); ++i) {
    made[i] = TensorView(nullptr, out[i].dtype, out[i].shape);
    bytes += made[i].nbytes();
  }
  // What is small and known, and little work, is known for good; other sizes that depend on data
  // wait for it.
  const bool sized_by_data = is_data_dependent(node.op);
  known = known && bytes <= kMaxEvaluated && (!sized_by_data || takes_work(node, given, made));
  if (sized_by_data && !known) return needs_value();
  bool all_elements = true;
  for (size_t i = 0; i < out.size(); ++i) {
    PlanValue& v = values[node.outputs[i]];
    v = PlanValue();
    v.name = entry.values[node.outputs[i]].name;
    v.dtype = out[i].dtype;
    v.shape = out[i].shape;
    WICK_TRY(check_dtype(node.outputs[i], v.dtype));
    if (!is_data_dependent(node.op)) WICK_TRY(check_declared(node.outputs[i]));
    bool has = out[i].elements != nullptr && v.dtype == DType::kI64 &&
               out[i].element_count == numel(v.shape);
    all_elements = all_elements && has;
    if (has) WICK_TRY(write_elements(stage, node.outputs[i], out[i]));
  }
  *live = !all_elements;
  if (!all_elements && known && (sized_by_data || takes_work(node, given, made))) {
    *live = false;
    return evaluate(stage, node);
  }
  return {};
}

Status Session::Impl::infer(uint32_t region, Stage& stage) {
  const RegionDef& def = entry.regions[region];
  WICK_ASSIGN(auto seen, temp.array<uint8_t>(entry.values.size()));
  Array<Crossing> crossing(stage.allocator);
  Array<PlanStep> steps(stage.allocator);  // of this stage: there may be as many stages as nodes
  for (stage.end = stage.first; stage.end < def.nodes.size(); ++stage.end) {
    const NodeDef& node = def.nodes[stage.end];
    for (uint32_t v : node.inputs) {
      if (v == kNoIndex || seen[v] != 0 || values[v].data != nullptr) continue;
      if (is_container(entry.values[v].dtype)) continue;  // no plan depends on its size
      seen[v] = 1;
      WICK_TRY(crossing.push_back({v, values[v].shape}));
    }
    bool live = true;
    Status s = infer_node(stage, node, &live);
    if (s.code() == Code::kNeedsValue) break;
    WICK_TRY(annotate(s, "node %.60s (%s): ", node.name, op_name(node)));
    for (uint32_t v : node.outputs) seen[v] = 1;
    if (live) WICK_TRY(steps.push_back({&node, node.inputs, node.outputs, false, false}));
  }
  // their memory stays until the arena is cleared
  stage.steps = {steps.data(), steps.size()};
  stage.crossing = {crossing.data(), crossing.size()};
  return {};
}

// Plans a stage from node `first` on, for the shapes its values have now. Those behind it were
// planned for what it gave before.
Status Session::Impl::plan(uint32_t region, size_t index, uint32_t first) {
  Array<Stage*>& stages = regions[region].stages;
  if (index == stages.size()) {
    void* p = allocator.allocate(sizeof(Stage), alignof(Stage));
    if (p == nullptr) return Status(Code::kOutOfMemory, "cannot allocate a stage");
    auto* made = new (p) Stage(allocator, max_ram);
    Status s = stages.push_back(made);
    if (!s.ok()) {
      made->~Stage();
      allocator.deallocate(p, sizeof(Stage), alignof(Stage));
      return s;
    }
  }
  for (size_t k = index; k < stages.size(); ++k) unbind(region, *stages[k]);
  Stage& stage = *stages[index];
  stage.first = stage.end = first;
  stage.first_step = 0;
  for (size_t k = 0; k < index; ++k) stage.first_step += stages[k]->steps.size() + 1;
  temp.clear();
  work_left = kMostWorkAhead;
  auto attempt = [&]() -> Status {
    WICK_TRY(infer(region, stage));
    WICK_TRY(choose_backends(stage, entry.regions[region]));
    WICK_TRY(place(stage, entry.regions[region]));
    return compile(stage);
  };
  Status s = attempt();
  temp.clear();
  counted = false;
  stage.bound = true;  // so that unbind() forgets what was computed
  if (!s.ok()) unbind(region, stage);
  return s;
}

Status Session::Impl::bind_once(Span<const Shape> given_shapes) {
  FloatModeScope mode;  // ops are evaluated here too, in whatever mode the caller is in
  auto attempt = [&]() -> Status {
    WICK_TRY(prepare());
    for (int64_t& extent : symbols) extent = -1;
    WICK_TRY(check_inputs(given_shapes));
    unbind();
    strings.clear();  // what the last run made is not read any more
    auto ports = entry.body().inputs;
    WICK_TRY(shapes.reserve(ports.size()));
    for (size_t i = 0; i < ports.size(); ++i) {
      WICK_TRY(shapes.push_back(given_shapes[i]));
      WICK_TRY(set_value(ports[i], nullptr, entry.values[ports[i]].dtype, given_shapes[i]));
    }
    WICK_TRY(plan(0, 0, 0));
    bound = true;
    sized = whole();
    return {};
  };
  Status s = attempt();
  if (!s.ok()) unbind();
  return s;
}

}  // namespace wick
