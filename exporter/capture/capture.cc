#include "exporter/capture/capture.h"

#include <fmt/format.h>

#include <cstring>

#include "exporter/capture/graph_tracer.h"
#include "runtime/registry/registry.h"
#include "wick/error.h"

namespace wick {
namespace {

// The second run's sizes: any other ones do.
constexpr int64_t kOtherSize = 3;

const CaptureInput& check_input(const CaptureInput& in) {
  if (!in.example.defined()) throw Error("[capture] input \"" + in.name + "\" has no example");
  for (const DynamicDim& d : in.dynamic) {
    if (d.dim < 0 || d.dim >= in.example.rank()) {
      throw Error(fmt::format("[capture] input \"{}\" has no dimension {}", in.name, d.dim));
    }
  }
  if (in.normalization.size() > 1)
    throw Error("[capture] input \"" + in.name + "\" is normalized twice");
  if (!in.normalization.empty() && in.example.dtype() != DType::kF32) {
    throw Error("[capture] input \"" + in.name +
                "\": normalization makes float32, the example is " +
                dtype_name(in.example.dtype()));
  }
  return in;
}

// Other data, and another size along every dynamic dimension. Integers keep to values the example
// has: they may be indices.
Tensor other_example(const CaptureInput& in) {
  Shape shape = in.example.raw_shape();
  for (const DynamicDim& d : in.dynamic) {
    int64_t other = shape[d.dim] + kOtherSize;
    shape[d.dim] = other <= d.max ? other : std::max(d.min, shape[d.dim] - 1);
  }
  HostTensor from = host_copy(in.example), to(in.example.dtype(), shape);
  size_t size = dtype_size(in.example.dtype());
  for (int64_t i = 0; i < to.numel() && from.numel() > 0; ++i) {
    // a stride coprime to most sizes: data differ even where the shapes do not
    int64_t source = (i * 7 + 3) % from.numel();
    memcpy(to.as<char>() + static_cast<size_t>(i) * size,
           from.as<char>() + static_cast<size_t>(source) * size, size);
    if (to.dtype() == DType::kF32)
      to.as<float>()[i] = to.as<float>()[i] * 0.75f + 0.0625f * static_cast<float>(i % 13);
    if (to.dtype() == DType::kF64)
      to.as<double>()[i] = to.as<double>()[i] * 0.75 + 0.0625 * static_cast<double>(i % 13);
  }
  return from_blob(to.data(), shape, to.dtype());
}

ir::ValueId channel_constant(ir::Graph& g, const std::vector<float>& values, int rank,
                             const std::string& name) {
  Shape shape;
  if (values.size() > 1) {
    shape.push_back(static_cast<int64_t>(values.size()));
    for (int i = 2; i < rank; ++i) shape.push_back(1);
  }
  return g.add_constant(HostTensor::of<float>(shape, values), name);
}

ir::ValueId add_input(ir::Graph& g, const CaptureInput& in) {
  SymShape shape = to_symbolic(in.example.raw_shape());
  for (const DynamicDim& d : in.dynamic) shape[d.dim] = g.symbol(d.symbol, d.min, d.max);
  if (in.normalization.empty()) return g.add_input(in.name, in.example.dtype(), shape);
  const InputNormalization& n = in.normalization[0];
  ir::ValueId x = g.add_input(in.name, DType::kU8, shape);
  x = g.emit(OpId::kCast, CastAttrs{}, {x}, in.name + ".cast");
  x = g.emit(OpId::kDiv, {x, channel_constant(g, {n.divisor}, shape.rank(), in.name + ".divisor")},
             in.name + ".scale");
  x = g.emit(OpId::kSub, {x, channel_constant(g, n.mean, shape.rank(), in.name + ".mean")},
             in.name + ".center");
  return g.emit(OpId::kDiv, {x, channel_constant(g, n.std, shape.rank(), in.name + ".std")},
                in.name + ".spread");
}

ir::Graph trace(nn::Module& module, const std::vector<CaptureInput>& inputs,
                const std::vector<Tensor>& examples, const CaptureOptions& options) {
  if (inputs.size() != 1) throw Error("[capture] a module's forward takes one tensor");
  ir::Graph g;
  GraphTracer tracer(g);
  for (const auto& [name, tensor] : module.state_dict()) tracer.bind_parameter(name, tensor);
  for (size_t i = 0; i < inputs.size(); ++i) tracer.bind(examples[i], add_input(g, inputs[i]));
  Tensor out;
  {
    GradMode no_grad(false);
    TracerScope scope(&tracer);
    out = module(examples[0]);
  }
  g.add_output(options.output, tracer.result(out));
  g.labels = options.labels;
  ir::verify(g, "after capture");
  return g;
}

std::string where(const ir::Node& n) {
  std::string s = op_info(n.op)->name;
  if (!n.module.empty()) s += " in " + n.module;
  if (!n.source.file.empty()) s += " (" + n.source.text() + ")";
  return s;
}

std::string field_text(const AttrField& f, const AnyAttrs& a) {
  auto* bytes = const_cast<void*>(a.get());
  if (f.kind == AttrKind::kInt) return std::to_string(attr_int(f, bytes));
  if (f.kind == AttrKind::kFloat) return fmt::format("{}", attr_float(f, bytes));
  auto list = attr_ints(f, a.get());
  return fmt::format("[{}]", fmt::join(list.begin(), list.end(), ","));
}

// The two graphs must be one: whatever differs came from the data or from a size.
void compare(const ir::Graph& a, const ir::Graph& b) {
  size_t common = std::min(a.node_count(), b.node_count());
  for (size_t i = 0; i < common; ++i) {
    const ir::Node &x = a.nodes()[i], &y = b.nodes()[i];
    if (x.op != y.op || x.source.text() != y.source.text() || x.inputs.size() != y.inputs.size()) {
      throw Error("[capture] control flow depends on data or on a dynamic size: " + where(x) +
                  " in one run, " + where(y) + " in another");
    }
    for (const AttrField& f : op_info(x.op)->attrs->fields) {
      std::string was = field_text(f, x.attrs), now = field_text(f, y.attrs);
      if (was == now) continue;
      throw Error(fmt::format("[capture] {}: {} is baked in, it was {} and {} for two inputs",
                              where(x), f.name, was, now));
    }
    for (size_t k = 0; k < x.inputs.size(); ++k) {
      ir::ValueId v = x.inputs[k], w = y.inputs[k];
      bool constant = a.is_constant(v);
      if (constant != b.is_constant(w) || (v == ir::kNoValue) != (w == ir::kNoValue) || v != w) {
        throw Error(fmt::format("[capture] {}: input {} comes from different places for two inputs",
                                where(x), k));
      }
      if (!constant || a.value(v).parameter) continue;
      if (!same_bits(a.value(v).constant, b.value(w).constant)) {
        throw Error(
            fmt::format("[capture] {}: input {} is baked in, a tensor computed from data or from a "
                        "dynamic size outside of the ops",
                        where(x), k));
      }
    }
  }
  if (a.node_count() != b.node_count()) {
    const ir::Graph& longer = a.node_count() > b.node_count() ? a : b;
    throw Error("[capture] control flow depends on data or on a dynamic size: " +
                where(longer.nodes()[common]) + " runs for one input and not for another");
  }
}

}  // namespace

ir::Graph capture(nn::Module& module, const std::vector<CaptureInput>& inputs,
                  const CaptureOptions& options) {
  std::vector<Tensor> first, second;
  for (const CaptureInput& in : inputs) {
    // A model may write into its input: not into the caller's.
    first.push_back(check_input(in).example.detach().clone());
    second.push_back(other_example(in));
  }
  ir::Graph graph = trace(module, inputs, first, options);
  compare(graph, trace(module, inputs, second, options));
  return graph;
}

}  // namespace wick
