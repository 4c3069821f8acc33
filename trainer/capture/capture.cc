#include "trainer/capture/capture.h"

#include <fmt/core.h>

#include <cstring>

#include "trainer/capture/compare.h"
#include "trainer/capture/free_sizes.h"
#include "trainer/capture/graph_tracer.h"
#include "wick/error.h"

namespace wick {
namespace {

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

// Other data, of another shape; each run has its own. Integers keep to values the example has: they
// may be indices.
Tensor other_example(const CaptureInput& in, const Shape& shape, int64_t run) {
  HostTensor from = host_copy(in.example), to(in.example.dtype(), shape);
  size_t size = dtype_size(in.example.dtype());
  for (int64_t i = 0; i < to.numel() && from.numel() > 0; ++i) {
    // a stride coprime to most sizes: data differ even where the shapes do not
    int64_t source = (i * (7 + 4 * run) + 3 + run) % from.numel();
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

CaptureRun trace(nn::Module& module, const std::vector<CaptureInput>& inputs,
                 const std::vector<Tensor>& examples, const CaptureOptions& options) {
  if (inputs.size() != 1) throw Error("[capture] a module's forward takes one tensor");
  CaptureRun run;
  ir::Graph& g = run.graph;
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
  run.reads = tracer.size_reads();
  return run;
}

// The graph at sizes other than the example's. A model that does not run there is not what the
// bounds promise.
CaptureRun trace_at(nn::Module& module, const std::vector<CaptureInput>& inputs,
                    const CaptureOptions& options, const std::vector<FreeSize>& free,
                    const Sizes& sizes, int64_t run) {
  std::vector<Tensor> examples;
  for (const CaptureInput& in : inputs)
    examples.push_back(other_example(in, shape_at(in, free, sizes), run));
  const Sizes first = example_sizes(free);
  if (sizes == first) return trace(module, inputs, examples, options);
  auto refused = [&](const std::string& what, Code code) {
    return Error(
        fmt::format("[capture] forward runs at {} and fails at {}: {}{}", sizes_text(free, first),
                    sizes_text(free, sizes), what, bounds_hint(free, sizes)),
        code);
  };
  try {
    return trace(module, inputs, examples, options);
  } catch (const Error& e) {
    throw refused(e.what(), e.code());
  } catch (const std::exception& e) {
    throw refused(e.what(), Code::kInvalidArgument);
  }
}

}  // namespace

ir::Graph capture(nn::Module& module, const std::vector<CaptureInput>& inputs,
                  const CaptureOptions& options) {
  std::vector<Tensor> first;
  for (const CaptureInput& in : inputs) {
    // A model may write into its input: not into the caller's.
    first.push_back(check_input(in).example.detach().clone());
  }
  const std::vector<FreeSize> free = free_sizes(inputs);
  CaptureRun captured = trace(module, inputs, first, options);
  const Sizes example = example_sizes(free);
  int64_t run = 0;
  for (const Sizes& sizes : further_sizes(free)) {
    CaptureRun other = trace_at(module, inputs, options, free, sizes, run++);
    if (sizes != example) {
      captured.sizes = sizes_text(free, example);
      other.sizes = sizes_text(free, sizes);
    }
    compare_captures(captured, other, bounds_hint(free, sizes));
  }
  return std::move(captured.graph);
}

}  // namespace wick
