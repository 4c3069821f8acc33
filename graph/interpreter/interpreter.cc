#include "graph/interpreter/interpreter.h"

#include <algorithm>

#include "graph/ir/infer.h"
#include "runtime/core/copy_bits.h"
#include "runtime/core/int_at.h"
#include "runtime/core/packed_sequence.h"
#include "runtime/kernels/prepared.h"
#include "runtime/ops/op_cost.h"
#include "runtime/ops/sequence_parts.h"
#include "runtime/registry/registry.h"
#include "wick/error.h"

namespace wick::ir {
namespace {

// This is more integers than any op reads as a shape, axes or sizes.
constexpr int64_t kMaxShapeValues = 64;
// Scratch memory that any node may have, however few bytes its values take.
constexpr uint64_t kLeastScratch = uint64_t{1} << 26;
// About what running a region costs for each of its values and nodes, besides its kernels' work.
constexpr double kStepsOfValue = 200;

// Returns whether v is a packed value whose elements are strings.
bool holds_strings(const TensorView& v) {
  if (!is_container(v.dtype)) return false;
  auto packed = PackedSequence::open(v);
  return packed.ok() && packed->dtype() == DType::kString;
}

void check_inputs(const Graph& g, Span<const HostTensor> inputs) {
  if (inputs.size() != g.inputs().size()) {
    throw Error("the graph has " + std::to_string(g.inputs().size()) + " inputs, got " +
                std::to_string(inputs.size()));
  }
  std::map<std::string, int64_t> sizes;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const Value& v = g.value(g.inputs()[i]);
    std::string got = dtype_name(inputs[i].dtype()) + std::string(to_text(inputs[i].shape()).text);
    std::string want = dtype_name(v.dtype) + shape_text(v.shape);
    bool fits = inputs[i].dtype() == v.dtype;
    if (fits && is_container(v.dtype)) {
      auto packed = PackedSequence::open(inputs[i].view());
      if (!packed.ok())
        throw Error("input \"" + v.name + "\": " + packed.status().message(),
                    packed.status().code());
      if (packed->dtype() == v.element) continue;
      throw Error("input \"" + v.name + "\" takes " + type_text(v) + ", its elements are " +
                      dtype_name(packed->dtype()),
                  Code::kTypeMismatch);
    }
    fits = fits && (!v.ranked || inputs[i].shape().rank() == v.shape.rank());
    for (int d = 0; fits && v.ranked && d < v.shape.rank(); ++d) {
      const SymDim& dim = v.shape[d];
      int64_t n = inputs[i].shape()[d];
      if (dim.known()) {
        fits = dim.constant() == n;
      } else if (dim.constant() == 0 && dim.terms().size() == 1 &&
                 dim.terms()[0].factors.size() == 1) {
        auto [at, fresh] = sizes.emplace(dim.text(), n);
        if (!fresh && at->second != n) {
          throw Error("input \"" + v.name + "\": dimension " + dim.text() + " is " +
                      std::to_string(n) + ", in another input it is " + std::to_string(at->second));
        }
        fits = n >= dim.min() && n <= dim.max();
      }
    }
    if (!fits) throw Error("input \"" + v.name + "\" takes " + want + ", got " + got);
  }
}

void take_work(double work, const InterpreterOptions& options) {
  if (!(work <= *options.work_left))
    throw Error("needs more steps than are left", Code::kBudgetExceeded);
  *options.work_left -= work;
}

}  // namespace

std::vector<HostTensor> run_node(OpId op, const void* attrs, Span<const HostTensor> inputs,
                                 size_t outputs, const InterpreterOptions& options) {
  std::vector<ValueInfo<int64_t>> in(inputs.size()), out(outputs);
  std::vector<std::vector<int64_t>> elements(inputs.size());
  std::vector<TensorView> in_views(inputs.size());
  for (size_t i = 0; i < inputs.size(); ++i) {
    const HostTensor& t = inputs[i];
    if (!t.present()) continue;
    in_views[i] = t.view();
    in[i].dtype = t.dtype();
    in[i].shape = t.shape();
    if (is_container(t.dtype())) {
      in[i].elements = t.as<int64_t>();
      in[i].element_count = t.numel() / 8;
    } else if (is_int(t.dtype()) && t.shape().rank() <= 1 &&
               (t.numel() <= kMaxShapeValues || reads_all_integers(op, i))) {
      elements[i] = int_values(t);
      elements[i].reserve(1);  // an address even when empty
      in[i].elements = elements[i].data();
      in[i].element_count = static_cast<int64_t>(elements[i].size());
    } else if (holds_reals(op, i, t.dtype(), t.shape().rank()) && t.numel() <= kMaxShapeValues) {
      for (int64_t k = 0; k < t.numel(); ++k)
        elements[i].push_back(real_bits_at(t.dtype(), t.data(), k));
      elements[i].reserve(1);
      in[i].elements = elements[i].data();
      in[i].element_count = t.numel();
    }
  }
  const CustomOp* custom = is_custom(op) ? find_custom_op(op) : nullptr;
  RuleCtx<int64_t> rule{op, attrs, in, out, custom};
  Status s = refuse_unknown(infer_shapes(rule));
  if (!s.ok()) throw Error(s.message(), s.code());
  uint64_t need = 0;
  for (const auto& o : out) {
    need += static_cast<uint64_t>(numel(o.shape)) * static_cast<uint64_t>(dtype_bits(o.dtype)) / 8;
    if (need <= options.max_bytes) continue;
    throw Error("needs " + std::to_string(need) + " bytes, more than the " +
                    std::to_string(options.max_bytes) + " allowed",
                Code::kBudgetExceeded);
  }
  std::vector<TensorView> out_views;
  for (const auto& o : out) out_views.emplace_back(nullptr, o.dtype, o.shape);
  if (options.work_left != nullptr)  // checked before allocating: zeroing memory takes time too
    take_work(op_work(op, attrs, in_views, out_views), options);
  std::vector<HostTensor> results;
  for (size_t i = 0; i < out.size(); ++i) {
    results.emplace_back(out[i].dtype, out[i].shape);
    out_views[i] = results.back().view();
  }
  KernelQuery query{op, attrs, in_views, out_views, 1, custom};
  query.edition = options.edition;
  PreparedKernel kernel;
  s = kernel.prepare(options.kernels, query);
  if (!s.ok()) throw Error(s.message(), s.code());
  // A kernel's scratch memory is small, or a multiple of what it reads; a file may ask for any
  // size.
  if (kernel.scratch_bytes() > std::max(options.max_bytes, kLeastScratch)) {
    throw Error("needs " + std::to_string(kernel.scratch_bytes()) +
                    " bytes to work in, more than the " + std::to_string(options.max_bytes) +
                    " allowed",
                Code::kBudgetExceeded);
  }
  HostTensor scratch(DType::kU8, Shape{static_cast<int64_t>(kernel.scratch_bytes())});
  Arena strings(default_allocator(), options.max_bytes);
  FloatModeScope mode;
  s = kernel.run({nullptr, scratch.data(), &strings}, op, in_views, out_views, attrs);
  if (!s.ok()) throw Error(s.message(), s.code());
  for (size_t i = 0; i < results.size(); ++i) {  // sizes that depended on data, strings made here
    const TensorView& v = out_views[i];
    if (!(v.shape == results[i].shape()) || v.dtype == DType::kString || holds_strings(v))
      results[i] = HostTensor(v.dtype, v.shape, v.data, v.nbytes());
  }
  return results;
}

namespace {

// What a run has done, and who sees it.
struct Running {
  uint64_t nodes = 0;
  InterpreterWatch* watch = nullptr;
};

std::vector<HostTensor> run_graph(const Graph& g, Span<const HostTensor> inputs,
                                  const InterpreterOptions& options, Running* running);

bool one_bool(const HostTensor& t, const char* what) {
  if (t.dtype() != DType::kBool || t.numel() != 1)
    throw Error(std::string(what) + " must be one bool, got " + std::string(dtype_name(t.dtype())) +
                    to_text(t.shape()).text,
                Code::kShapeMismatch);
  return *t.as<uint8_t>() != 0;
}

// Stacks tensors of equal shape along a new first axis.
HostTensor stack(const std::vector<HostTensor>& parts, DType dtype, const Shape& each,
                 const InterpreterOptions& options) {
  if (is_container(dtype)) throw Error("trips cannot stack sequences");
  if (each.rank() == kMaxRank) throw Error("a stacked output would have a rank over 8");
  Shape shape{static_cast<int64_t>(parts.size())};
  for (int64_t d : each) shape.push_back(d);
  auto bytes = checked_bytes(shape, dtype_bits(dtype));
  if (!bytes.ok() || *bytes > options.max_bytes) {
    throw Error("a stack of " + std::to_string(parts.size()) + " trips needs more than the " +
                    std::to_string(options.max_bytes) + " bytes allowed",
                Code::kBudgetExceeded);
  }
  HostTensor all(dtype, shape);  // strings are copied after the loop
  size_t at = 0;
  for (const HostTensor& part : parts) {
    if (!(part.shape() == each)) {
      throw Error(std::string("a trip gives ") + to_text(part.shape()).text +
                      " to stack, one before gave " + to_text(each).text,
                  Code::kShapeMismatch);
    }
    const size_t bits = static_cast<size_t>(part.numel()) * static_cast<size_t>(dtype_bits(dtype));
    copy_bits(part.data(), 0, all.data(), at, bits);
    at += bits;
  }
  if (dtype == DType::kString) return HostTensor(dtype, shape, all.data(), all.nbytes());
  return all;
}

std::vector<HostTensor> run_loop(const Node& n, Span<const HostTensor> inputs,
                                 const InterpreterOptions& options, Running* running) {
  const Graph& body = n.regions[0];
  auto carried = static_cast<size_t>(n.attrs.as<LoopAttrs>().carried);
  size_t outputs = body.outputs().size() - 1;
  if (inputs[0].numel() != 1 || inputs[0].dtype() != DType::kI64)
    throw Error("the number of trips must be one int64", Code::kShapeMismatch);
  const int64_t trips = int_at(inputs[0].view(), 0);
  std::vector<HostTensor> in(inputs.begin(), inputs.end());
  in[1] = in[1].reshaped(Shape{});
  std::vector<std::vector<HostTensor>> stacks(outputs - carried);
  uint64_t held = 0;
  bool go_on = one_bool(inputs[1], "the condition");
  for (int64_t trip = 0; go_on && trip < trips; ++trip) {
    in[0] = HostTensor(DType::kI64, Shape{}, &trip, sizeof(trip));
    InterpreterOptions left = options;
    left.max_bytes = options.max_bytes - std::min(options.max_bytes, held);
    if (running->watch != nullptr) running->watch->region(body, in);
    std::vector<HostTensor> out = run_graph(body, in, left, running);
    go_on = one_bool(out[0], "the condition of a trip");
    in[1] = out[0].reshaped(Shape{});
    for (size_t k = 0; k < carried; ++k) in[2 + k] = out[1 + k];
    for (size_t k = 0; k < stacks.size(); ++k) {
      held += out[1 + carried + k].held_bytes() + sizeof(HostTensor);
      stacks[k].push_back(std::move(out[1 + carried + k]));
    }
    if (++running->nodes > options.max_nodes || held > options.max_bytes) {
      throw Error("the loop goes on after " + std::to_string(trip) + " trips: more than is allowed",
                  Code::kBudgetExceeded);
    }
  }
  std::vector<HostTensor> results(in.begin() + 2, in.begin() + 2 + static_cast<long>(carried));
  std::vector<Shape> shapes;
  for (size_t k = 0; k < stacks.size(); ++k) {
    if (stacks[k].empty() && shapes.empty()) {
      std::vector<Shape> given;
      for (const HostTensor& t : in) given.push_back(t.shape());
      shapes = output_shapes(body, given);
    }
    const Shape each = stacks[k].empty() ? shapes[1 + carried + k] : stacks[k][0].shape();
    DType dtype = body.value(body.outputs()[1 + carried + k].value).dtype;
    results.push_back(stack(stacks[k], dtype, each, options));
  }
  return results;
}

std::vector<HostTensor> run_node_of(const Node& n, Span<const HostTensor> inputs,
                                    const InterpreterOptions& options, Running* running) {
  if (++running->nodes > options.max_nodes)
    throw Error("more nodes run than the " + std::to_string(options.max_nodes) + " allowed",
                Code::kBudgetExceeded);
  if (n.op == OpId::kLoop) return run_loop(n, inputs, options, running);
  if (n.op == OpId::kIf) {
    const Graph& branch = n.regions[one_bool(inputs[0], "the condition") ? 0 : 1];
    std::vector<HostTensor> in(inputs.begin() + 1, inputs.end());
    if (running->watch != nullptr) running->watch->region(branch, in);
    return run_graph(branch, in, options, running);
  }
  return run_node(n.op, n.attrs.get(), inputs, n.outputs.size(), options);
}

std::vector<HostTensor> run_graph(const Graph& g, Span<const HostTensor> inputs,
                                  const InterpreterOptions& options, Running* running) {
  if (options.work_left != nullptr)  // a trip that does nothing takes time too
    take_work(kStepsOfValue * static_cast<double>(g.value_count() + g.node_count()), options);
  check_inputs(g, inputs);
  std::vector<HostTensor> values(g.value_count());
  std::vector<int> readers(g.value_count(), 0);
  for (const Node& n : g.nodes()) {
    for (ValueId v : n.inputs) {
      if (v != kNoValue) ++readers[static_cast<size_t>(v)];
    }
  }
  for (const GraphOutput& o : g.outputs()) ++readers[static_cast<size_t>(o.value)];
  for (size_t i = 0; i < inputs.size(); ++i) values[static_cast<size_t>(g.inputs()[i])] = inputs[i];
  for (size_t v = 0; v < values.size(); ++v) {
    const Value& value = g.value(static_cast<ValueId>(v));
    if (value.origin == ValueOrigin::kConstant) values[v] = value.constant;
  }
  uint64_t alive = 0;
  for (size_t i = 0; i < g.node_count(); ++i) {
    auto id = static_cast<NodeId>(i);
    const Node& n = g.node(id);
    if (n.removed()) continue;
    std::vector<HostTensor> in, out;
    for (ValueId v : n.inputs)
      in.push_back(v == kNoValue ? HostTensor() : values[static_cast<size_t>(v)]);
    try {
      InterpreterOptions left = options;
      left.max_bytes = options.max_bytes - std::min(options.max_bytes, alive);
      if (!n.regions.empty()) left.after_node = nullptr;
      out = run_node_of(n, in, left, running);
    } catch (const Error& e) {
      throw Error(
          "[" + std::string(op_info(n.op)->name) + "] " + e.what() + " in " + node_text(g, id),
          e.code());
    }
    if (running->watch != nullptr) running->watch->node(g, id, in, out);
    if (options.after_node) options.after_node(id, out);
    for (size_t k = 0; k < out.size(); ++k) {
      alive += out[k].held_bytes();
      if (readers[static_cast<size_t>(n.outputs[k])] > 0)
        values[static_cast<size_t>(n.outputs[k])] = out[k];
    }
    for (ValueId v : n.inputs) {
      if (v == kNoValue || --readers[static_cast<size_t>(v)] > 0) continue;
      if (g.value(v).origin == ValueOrigin::kNode)
        alive -= values[static_cast<size_t>(v)].held_bytes();
      values[static_cast<size_t>(v)] = HostTensor();
    }
  }
  std::vector<HostTensor> results;
  for (const GraphOutput& o : g.outputs()) results.push_back(values[static_cast<size_t>(o.value)]);
  return results;
}

}  // namespace

std::vector<HostTensor> run(const Graph& g, Span<const HostTensor> inputs,
                            const InterpreterOptions& options) {
  Running running;
  InterpreterOptions own = options;
  own.edition = g.edition();
  return run_graph(g, inputs, own, &running);
}

std::vector<HostTensor> run_watched(const Graph& g, Span<const HostTensor> inputs,
                                    InterpreterWatch& watch, const InterpreterOptions& options) {
  Running running{0, &watch};
  InterpreterOptions own = options;
  own.edition = g.edition();
  return run_graph(g, inputs, own, &running);
}

std::vector<HostTensor> run_any(const Graph& g, const Node& node, Span<const HostTensor> inputs,
                                const InterpreterOptions& options) {
  Running running;
  InterpreterOptions own = options;
  own.edition = g.edition();
  return run_node_of(node, inputs, own, &running);
}

}  // namespace wick::ir
