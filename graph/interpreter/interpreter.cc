#include "graph/interpreter/interpreter.h"

#include <algorithm>

#include "runtime/registry/registry.h"
#include "wick/error.h"

namespace wick::ir {
namespace {

// more integers than any op reads as a shape, axes or sizes
constexpr int64_t kMaxShapeValues = 64;

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
    bool fits = inputs[i].dtype() == v.dtype && inputs[i].shape().rank() == v.shape.rank();
    for (int d = 0; fits && d < v.shape.rank(); ++d) {
      const SymDim& dim = v.shape[d];
      int64_t n = inputs[i].shape()[d];
      if (dim.known()) {
        fits = dim.constant() == n;
      } else if (dim.constant() == 0 && dim.terms().size() == 1 &&
                 dim.terms()[0].factors.size() == 1) {
        auto [at, fresh] = sizes.emplace(dim.text(), n);
        if (!fresh && at->second != n) {
          throw Error("dimension " + dim.text() + " is " + std::to_string(at->second) + " and " +
                      std::to_string(n));
        }
        fits = n >= dim.min() && n <= dim.max();
      }
    }
    if (!fits) throw Error("input \"" + v.name + "\" takes " + want + ", got " + got);
  }
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
    bool ints = t.dtype() == DType::kI64 || t.dtype() == DType::kI32;
    if (ints && t.shape().rank() <= 1 && t.numel() <= kMaxShapeValues) {
      elements[i] = int_values(t);
      elements[i].reserve(1);  // an address even when empty
      in[i].elements = elements[i].data();
      in[i].element_count = static_cast<int64_t>(elements[i].size());
    }
  }
  const CustomOp* custom = is_custom(op) ? find_custom_op(op) : nullptr;
  RuleCtx<int64_t> rule{op, attrs, in, out, custom};
  Status s = infer_shapes(rule);
  if (!s.ok()) throw Error(s.message(), s.code());
  uint64_t need = 0;
  for (const auto& o : out) {
    need += static_cast<uint64_t>(numel(o.shape)) * static_cast<uint64_t>(dtype_bits(o.dtype)) / 8;
  }
  if (need > options.max_bytes) {
    throw Error("needs " + std::to_string(need) + " bytes, more than the " +
                    std::to_string(options.max_bytes) + " allowed",
                Code::kBudgetExceeded);
  }
  std::vector<HostTensor> results;
  std::vector<TensorView> out_views;
  for (const auto& o : out) {
    results.emplace_back(o.dtype, o.shape);
    out_views.push_back(results.back().view());
  }
  KernelQuery query{op, attrs, in_views, out_views, 1, custom};
  const KernelRow* row = find_kernel(options.kernels, query);
  if (row == nullptr) {
    throw Error(
        "no kernel for " + std::string(inputs.empty() ? "no input" : dtype_name(inputs[0].dtype())),
        Code::kUnsupported);
  }
  KernelPlan plan;
  if (row->plan != nullptr) {
    s = row->plan(query, &plan);
    if (!s.ok()) throw Error(s.message(), s.code());
  }
  HostTensor scratch(DType::kU8, Shape{static_cast<int64_t>(plan.scratch_bytes)});
  KernelCtx ctx;
  ctx.scratch = scratch.data();
  ctx.plan = &plan;
  FloatModeScope mode;
  s = row->run(ctx, in_views, out_views, attrs);
  if (!s.ok()) throw Error(s.message(), s.code());
  for (size_t i = 0; i < results.size(); ++i) {  // sizes that depended on data
    const TensorView& v = out_views[i];
    if (!(v.shape == results[i].shape()))
      results[i] = HostTensor(v.dtype, v.shape, v.data, v.nbytes());
  }
  return results;
}

std::vector<HostTensor> run(const Graph& g, Span<const HostTensor> inputs,
                            const InterpreterOptions& options) {
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
      out = run_node(n.op, n.attrs.get(), in, n.outputs.size(), left);
    } catch (const Error& e) {
      throw Error(
          "[" + std::string(op_info(n.op)->name) + "] " + e.what() + " in " + node_text(g, id),
          e.code());
    }
    if (options.after_node) options.after_node(id, out);
    for (size_t k = 0; k < out.size(); ++k) {
      alive += out[k].nbytes();
      if (readers[static_cast<size_t>(n.outputs[k])] > 0)
        values[static_cast<size_t>(n.outputs[k])] = out[k];
    }
    for (ValueId v : n.inputs) {
      if (v == kNoValue || --readers[static_cast<size_t>(v)] > 0) continue;
      if (g.value(v).origin == ValueOrigin::kNode) alive -= values[static_cast<size_t>(v)].nbytes();
      values[static_cast<size_t>(v)] = HostTensor();
    }
  }
  std::vector<HostTensor> results;
  for (const GraphOutput& o : g.outputs()) results.push_back(values[static_cast<size_t>(o.value)]);
  return results;
}

}  // namespace wick::ir
