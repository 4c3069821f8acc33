#include "trainer/capture/capture.h"

#include <fmt/core.h>

#include "trainer/capture/free_sizes.h"
#include "trainer/capture/graph_tracer.h"
#include "trainer/capture/merge.h"
#include "trainer/capture/verify.h"
#include "wick/error.h"

namespace wick {
namespace {

void check_input(const CaptureInput& in) {
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

// One capture: what all its runs have in common.
class Runs {
 public:
  Runs(nn::Module& module, const std::vector<CaptureInput>& inputs, const CaptureCall& call)
      : module_(module), inputs_(inputs), call_(call), free_(free_sizes(inputs)) {}

  const std::vector<FreeSize>& free() const { return free_; }

  CaptureRun first() {
    std::vector<Tensor> examples;
    // A model may write into its input: not into the caller's.
    for (const CaptureInput& in : inputs_) examples.push_back(in.example.detach().clone());
    return trace(examples, example_sizes(free_));
  }

  // At sizes other than the example's. A model that does not run there is not what the bounds
  // promise.
  CaptureRun at(const Sizes& sizes, int64_t number) {
    const std::vector<Tensor> examples = examples_at(inputs_, free_, sizes, number).forward;
    const Sizes first = example_sizes(free_);
    if (sizes == first) return trace(examples, sizes);
    auto refused = [&](const std::string& what, Code code) {
      return Error(fmt::format("[capture] forward runs at {} and fails at {}: {}{}",
                               sizes_text(free_, first), sizes_text(free_, sizes), what,
                               bounds_hint(free_, sizes)),
                   code);
    };
    try {
      return trace(examples, sizes);
    } catch (const Error& e) {
      throw refused(e.what(), e.code());
    } catch (const std::exception& e) {
      throw refused(e.what(), Code::kInvalidArgument);
    }
  }

 private:
  CaptureRun trace(const std::vector<Tensor>& examples, const Sizes& sizes) {
    CaptureRun run;
    run.sizes = sizes;
    GraphTracer tracer(run.graph, weights_);
    for (const auto& [name, tensor] : module_.state_dict()) tracer.bind_parameter(name, tensor);
    for (size_t i = 0; i < inputs_.size(); ++i) {
      tracer.bind(examples[i], run.graph.add_input(inputs_[i].name, examples[i].dtype(),
                                                   to_symbolic(examples[i].raw_shape())));
    }
    std::vector<Tensor> results;
    {
      GradMode no_grad(false);
      TracerScope scope(&tracer);
      results = call_(examples);
    }
    for (size_t i = 0; i < results.size(); ++i)
      run.graph.add_output(std::to_string(i), tracer.result(results[i]));
    ir::verify(run.graph, "after capture");
    run.reads = tracer.size_reads();
    return run;
  }

  nn::Module& module_;
  const std::vector<CaptureInput>& inputs_;
  const CaptureCall& call_;
  std::vector<FreeSize> free_;
  SharedWeights weights_;
};

std::vector<std::string> names_of(const CaptureOptions& options, size_t outputs) {
  if (outputs == 0) throw Error("[capture] forward returns no tensor");
  std::vector<std::string> names = options.outputs;
  if (names.empty() && outputs == 1) names = {options.output};
  if (names.empty()) {
    for (size_t i = 0; i < outputs; ++i) names.push_back(fmt::format("{}_{}", options.output, i));
  }
  if (names.size() != outputs) {
    throw Error(
        fmt::format("[capture] forward returns {} tensors, and CaptureOptions::outputs "
                    "names {}",
                    outputs, names.size()));
  }
  return names;
}

}  // namespace

void detail::wrong_inputs(size_t takes, size_t given) {
  throw Error(
      fmt::format("[capture] the call takes {} tensors, and there are {} inputs", takes, given));
}

ir::Graph capture_call(nn::Module& module, const std::vector<CaptureInput>& inputs,
                       const CaptureCall& call, const CaptureOptions& options) {
  for (const CaptureInput& in : inputs) check_input(in);
  Runs runs(module, inputs, call);
  std::vector<CaptureRun> all;
  all.push_back(runs.first());
  int64_t number = 0;
  for (const Sizes& sizes : further_sizes(runs.free())) all.push_back(runs.at(sizes, number++));
  ir::Graph graph;
  std::vector<ir::ValueId> seen;  // by forward
  for (const CaptureInput& in : inputs) seen.push_back(add_input(graph, in));
  merge_captures(all, runs.free(), inputs, seen, names_of(options, all[0].graph.outputs().size()),
                 graph);
  graph.labels = options.labels;
  ir::verify(graph, "after capture");
  if (options.verify) {
    std::vector<Sizes> sizes = unseen_sizes(runs.free());  // what no expression was found from
    for (const CaptureRun& run : all) sizes.push_back(run.sizes);
    verify_capture(graph, inputs, call, runs.free(), sizes);
  }
  return graph;
}

ir::Graph capture(nn::Module& module, const std::vector<CaptureInput>& inputs,
                  const CaptureOptions& options) {
  if (inputs.size() != 1) {
    throw Error(
        "[capture] a module's forward takes one tensor: give capture() a call for the "
        "inputs, [&](const Tensor& a, const Tensor& b) { return model.forward(a, b); }");
  }
  return capture_call(
      module, inputs, [&](const std::vector<Tensor>& in) { return std::vector{module(in[0])}; },
      options);
}

}  // namespace wick
