// Binding, first half: shapes. Walks the body once, runs the shape rules, and evaluates right away
// what is known (Shape -> Gather -> Concat -> Reshape chains never reach run()).
#include <cinttypes>

#include "runtime/exec/session_impl.h"

namespace wick {
namespace {

constexpr int64_t kMaxElements = 256;        // of an int tensor whose values a rule may read
constexpr size_t kMaxEvaluated = 64 * 1024;  // bytes in and out of a step evaluated at bind

const char* op_name(const NodeDef& node) { return node.info->name; }

}  // namespace

void Session::Impl::unbind() {
  for (BoundPartition& p : partitions) {
    if (p.compiled != nullptr) p.compiled->free();
  }
  shapes = {};
  symbols = {};
  values = {};
  steps = {};
  partitions = {};
  views = {};
  input_uses = {};
  planned_bytes = 0;
  bound = deferred = false;
  bind_arena.clear();
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
        return error(Code::kShapeMismatch,
                     "input %.60s: %.40s is %" PRId64 " here and %" PRId64 " in another input",
                     v.name, symbol.name, s[d], extent);
      }
      extent = s[d];
    }
  }
  return {};
}

// The integers of a known small int value, as the rules read them.
Status Session::Impl::read_elements(uint32_t value, ValueInfo<int64_t>* info) {
  const PlanValue& v = values[value];
  if (v.data == nullptr || !is_int(v.dtype) || v.shape.rank() > 1 || numel(v.shape) > kMaxElements)
    return {};
  auto n = static_cast<size_t>(numel(v.shape));
  info->element_count = static_cast<int64_t>(n);
  if (v.dtype == DType::kI64) {
    info->elements = static_cast<const int64_t*>(v.data);
    return {};
  }
  WICK_ASSIGN(auto out, bind_arena.array<int64_t>(n));
  for (size_t i = 0; i < n; ++i) {
    switch (v.dtype) {
      case DType::kI32: out[i] = static_cast<const int32_t*>(v.data)[i]; break;
      case DType::kI16: out[i] = static_cast<const int16_t*>(v.data)[i]; break;
      case DType::kI8: out[i] = static_cast<const int8_t*>(v.data)[i]; break;
      case DType::kU8: out[i] = static_cast<const uint8_t*>(v.data)[i]; break;
      case DType::kU16: out[i] = static_cast<const uint16_t*>(v.data)[i]; break;
      case DType::kU32: out[i] = static_cast<const uint32_t*>(v.data)[i]; break;
      default: out[i] = static_cast<int64_t>(static_cast<const uint64_t*>(v.data)[i]); break;
    }
  }
  info->elements = out.data();
  return {};
}

// A rule knew the integers of its output (Shape): they become its data.
Status Session::Impl::write_elements(uint32_t value, const ValueInfo<int64_t>& info) {
  PlanValue& v = values[value];
  WICK_ASSIGN(auto data, bind_arena.array<int64_t>(static_cast<size_t>(info.element_count) + 1));
  for (int64_t i = 0; i < info.element_count; ++i) data[static_cast<size_t>(i)] = info.elements[i];
  v.data = data.data();
  return {};
}

Status Session::Impl::check_declared(uint32_t value) {
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
  if (fits) return {};
  return error(Code::kInvalidProgram,
               "value %u (%.60s) comes out as %s %s, which is not what the program declares", value,
               def.name, dtype_name(v.dtype), to_text(v.shape).text);
}

Status Session::Impl::evaluate(const NodeDef& node) {
  WICK_ASSIGN(auto in, bind_arena.array<TensorView>(node.inputs.size()));
  WICK_ASSIGN(auto out, bind_arena.array<TensorView>(node.outputs.size()));
  for (size_t i = 0; i < in.size(); ++i) {
    if (node.inputs[i] == kNoIndex) continue;
    const PlanValue& v = values[node.inputs[i]];
    in[i] = TensorView(const_cast<void*>(v.data), v.dtype, v.shape);
  }
  for (size_t i = 0; i < out.size(); ++i) {
    PlanValue& v = values[node.outputs[i]];
    out[i] = TensorView(nullptr, v.dtype, v.shape);
    WICK_ASSIGN(out[i].data, bind_arena.allocate(out[i].nbytes() + 1, kAlignment));
  }
  KernelQuery query{node.op, node.attrs, in, out, 1, node.custom};
  const KernelRow* row = find_kernel(sets, query);
  if (row == nullptr) {
    return error(Code::kUnsupported, "no kernel for %s%s",
                 in.empty() ? "no input" : dtype_name(in[0].dtype), why_missing(sets));
  }
  KernelPlan plan;
  if (row->plan != nullptr) WICK_TRY(row->plan(query, &plan));
  KernelCtx ctx;
  ctx.plan = &plan;
  WICK_ASSIGN(ctx.scratch, bind_arena.allocate(plan.scratch_bytes, kAlignment));
  WICK_TRY(row->run(ctx, in, out, node.attrs));
  for (size_t i = 0; i < out.size(); ++i) {
    values[node.outputs[i]].data = out[i].data;
    values[node.outputs[i]].shape = out[i].shape;  // final where it depended on data
  }
  return {};
}

// True when an input's values, not needed before, are needed now.
bool Session::Impl::mark_needed(const NodeDef& node) {
  auto nodes = entry.body().nodes;
  Array<uint8_t> wanted(bind_allocator);
  if (!wanted.resize(entry.values.size()).ok()) return false;
  bool whole = is_data_dependent(node.op);
  for (size_t i = whole ? 0 : 1; i < node.inputs.size(); ++i) {
    uint32_t id = node.inputs[i];
    if (id == kNoIndex || values[id].data != nullptr) continue;
    if (whole || is_int(values[id].dtype)) wanted[id] = 1;
  }
  for (size_t n = static_cast<size_t>(&node - nodes.data()); n-- > 0;) {
    bool reaches = false;
    for (uint32_t id : nodes[n].outputs) reaches = reaches || wanted[id] != 0;
    if (!reaches) continue;
    for (uint32_t id : nodes[n].inputs) {
      if (id != kNoIndex && values[id].data == nullptr) wanted[id] = 1;
    }
  }
  bool added = false;
  auto ports = entry.body().inputs;
  for (size_t i = 0; i < ports.size(); ++i) {
    if (wanted[ports[i]] == 0 || needs_value[i] != 0) continue;
    needs_value[i] = 1;
    added = true;
  }
  return added;
}

Status Session::Impl::infer_node(const NodeDef& node, bool* live) {
  WICK_ASSIGN(auto in, bind_arena.array<ValueInfo<int64_t>>(node.inputs.size()));
  WICK_ASSIGN(auto out, bind_arena.array<ValueInfo<int64_t>>(node.outputs.size()));
  bool known = true;
  size_t bytes = 0;
  for (size_t i = 0; i < in.size(); ++i) {
    uint32_t id = node.inputs[i];
    if (id == kNoIndex) continue;
    const PlanValue& v = values[id];
    in[i].dtype = v.dtype;
    in[i].shape = v.shape;
    WICK_TRY(read_elements(id, &in[i]));
    known = known && v.data != nullptr;
    bytes += TensorView(nullptr, v.dtype, v.shape).nbytes();
  }
  RuleCtx<int64_t> ctx{node.op, node.attrs, in, out, node.custom};
  WICK_TRY(infer_shapes(ctx));
  bool all_elements = true;
  for (size_t i = 0; i < out.size(); ++i) {
    PlanValue& v = values[node.outputs[i]];
    v.name = entry.values[node.outputs[i]].name;
    v.dtype = out[i].dtype;
    v.shape = out[i].shape;
    WICK_TRY(check_declared(node.outputs[i]));
    bytes += TensorView(nullptr, v.dtype, v.shape).nbytes();
    bool has = out[i].elements != nullptr && v.dtype == DType::kI64 &&
               out[i].element_count == numel(v.shape);
    all_elements = all_elements && has;
    if (has) WICK_TRY(write_elements(node.outputs[i], out[i]));
  }
  // Sizes that depend on data are found at bind, again whenever that data changes.
  if (is_data_dependent(node.op) && !(known && bytes <= kMaxEvaluated))
    return Status(Code::kNotFound, kNeedsValue);
  *live = !all_elements;
  if (!all_elements && known && bytes <= kMaxEvaluated) {
    *live = false;
    return evaluate(node);
  }
  return {};
}

Status Session::Impl::infer(Span<const TensorView> inputs, bool* again) {
  const RegionDef& body = entry.body();
  *again = false;
  WICK_ASSIGN(values, bind_arena.array<PlanValue>(entry.values.size()));
  for (size_t i = 0; i < values.size(); ++i) {
    if (entry.values[i].constant == kNoIndex) continue;
    const ConstantDef& c = program.constants()[entry.values[i].constant];
    values[i] = {entry.values[i].name, c.view.dtype, c.view.shape,
                 c.view.data,          c.packed,     entry.values[i].constant};
  }
  for (size_t i = 0; i < body.inputs.size(); ++i) {
    PlanValue& v = values[body.inputs[i]];
    v.name = entry.values[body.inputs[i]].name;
    v.dtype = entry.values[body.inputs[i]].dtype;
    v.shape = shapes[i];
    if (needs_value[i] == 0 || inputs.empty()) continue;
    // a copy: the caller's buffer is gone after the run
    size_t n = inputs[i].nbytes();
    WICK_ASSIGN(void* copy, bind_arena.allocate(n + 1, kAlignment));
    if (n != 0) memcpy(copy, inputs[i].data, n);
    v.data = copy;
  }
  WICK_ASSIGN(steps, bind_arena.array<PlanStep>(body.nodes.size()));
  size_t count = 0;
  for (const NodeDef& node : body.nodes) {
    bool live = true;
    Status s = infer_node(node, &live);
    if (s.code() == Code::kNotFound && strcmp(s.message(), kNeedsValue) == 0) {
      if (mark_needed(node)) {
        *again = true;
        return {};
      }
      if (inputs.empty()) {
        bool waits = false;
        for (uint8_t flag : needs_value) waits = waits || flag != 0;
        if (waits) {
          deferred = true;
          return {};
        }
      }
      s = error(Code::kUnsupported,
                "%s, and that value is too large or not computed from the inputs", s.message());
    }
    WICK_TRY(annotate(s, "node %.60s (%s): ", node.name, op_name(node)));
    if (live) steps[count++] = {&node, node.inputs, node.outputs, false, false};
  }
  steps = steps.subspan(0, count);
  return {};
}

Status Session::Impl::keep_given(Span<const TensorView> inputs) {
  given.clear();
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (needs_value[i] == 0) continue;
    size_t at = given.size(), n = inputs[i].nbytes();
    WICK_TRY(given.resize(at + n));
    if (n != 0) memcpy(given.data() + at, inputs[i].data, n);
  }
  return {};
}

bool Session::Impl::given_changed(Span<const TensorView> inputs) const {
  size_t at = 0;
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (needs_value[i] == 0) continue;
    size_t n = inputs[i].nbytes();
    if (n != 0 && memcmp(given.data() + at, inputs[i].data, n) != 0) return true;
    at += n;
  }
  return false;
}

Status Session::Impl::bind(Span<const Shape> given_shapes, Span<const TensorView> inputs) {
  FloatModeScope mode;  // ops are evaluated here too, in whatever mode the caller is in
  // given_shapes may lie in the arena that unbind() clears
  Shape local[16];
  Array<Shape> many(allocator);
  Span<Shape> kept{local, 16};
  if (given_shapes.size() > kept.size()) {
    WICK_TRY(many.resize(given_shapes.size()));
    kept = many;
  }
  for (size_t i = 0; i < given_shapes.size(); ++i) kept[i] = given_shapes[i];
  kept = kept.subspan(0, given_shapes.size());

  auto attempt = [&](bool* again) -> Status {
    unbind();
    WICK_ASSIGN(symbols, bind_arena.array<int64_t>(program.symbols().size()));
    for (int64_t& extent : symbols) extent = -1;
    WICK_TRY(check_inputs(kept));
    WICK_ASSIGN(shapes, bind_arena.array<Shape>(kept.size()));
    for (size_t i = 0; i < kept.size(); ++i) shapes[i] = kept[i];
    WICK_TRY(infer(inputs, again));
    if (*again || deferred) return {};
    WICK_TRY(choose_backends());
    WICK_TRY(place());
    WICK_TRY(compile());
    WICK_TRY(keep_given(inputs));
    bound = true;
    return {};
  };
  bool again = false;
  Status s;
  do {  // ends: each turn marks an input more
    s = attempt(&again);
  } while (s.ok() && again);
  if (!s.ok()) unbind();
  return s;
}

}  // namespace wick
