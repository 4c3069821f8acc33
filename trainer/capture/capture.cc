#include "trainer/capture/capture.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "trainer/capture/free_sizes.h"
#include "trainer/capture/graph_tracer.h"
#include "trainer/capture/merge.h"
#include "trainer/capture/verify.h"
#include "trainer/explain/warn.h"
#include "trainer/tensor/control_call.h"
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

ir::ValueId add_input(ir::Graph& g, const CaptureInput& in, const std::vector<FreeSize>& free) {
  SymShape shape = to_symbolic(in.example.raw_shape());
  for (const DynamicDim& d : in.dynamic) {
    for (const FreeSize& f : free) {
      if (f.symbol == d.symbol) shape[d.dim] = g.symbol(f.symbol, f.min, f.max);
    }
  }
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
    if (sizes == example_sizes(free_)) return trace(examples, sizes);
    try {
      return trace(examples, sizes);
    } catch (const std::exception& e) {
      throw_fails_at(free_, sizes, e);
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

constexpr int kMostRounds = 12;
constexpr int64_t kMostTrips = 50000;                 // of a while_loop
constexpr double kSeconds = 1, kDoubtfulSeconds = 5;  // of running the graph beside forward

// Whether forward read a free size as a number.
bool reads_sizes(const std::vector<CaptureRun>& runs) {
  for (const CaptureRun& run : runs) {
    for (size_t i = 0; i < run.reads.size() && i < runs[0].reads.size(); ++i) {
      if (run.reads[i].sizes != runs[0].reads[i].sizes) return true;
    }
  }
  return false;
}

// Whether forward read a number that the size is part of: it reads another where that size alone is
// another, or no two runs tell.
bool reads_size(const std::vector<CaptureRun>& runs, size_t size) {
  bool told = false;
  for (const CaptureRun& run : runs) {
    size_t unlike = 0;
    for (size_t i = 0; i < run.sizes.size(); ++i) unlike += run.sizes[i] != runs[0].sizes[i];
    if (unlike != 1 || run.sizes[size] == runs[0].sizes[size]) continue;
    told = true;
    for (size_t i = 0; i < run.reads.size() && i < runs[0].reads.size(); ++i) {
      if (run.reads[i].sizes != runs[0].reads[i].sizes) return true;
    }
  }
  return !told && reads_sizes(runs);
}

// A size that forward read as a number, or that is in an expression which few sizes do not settle,
// and of which nobody stated a largest, is free as far as it was tried, together with the others:
// a threshold may lie behind. Whether a bound changed.
bool narrow(const std::set<std::string>& doubtful, const std::vector<CaptureRun>& runs,
            const std::vector<Sizes>& ran, std::vector<FreeSize>* free) {
  std::vector<bool> open(free->size());
  for (size_t i = 0; i < free->size(); ++i) {
    const FreeSize& f = (*free)[i];
    open[i] = f.max == DynamicDim().max && (doubtful.count(f.symbol) != 0 || reads_size(runs, i));
  }
  // The run in which the smallest of these sizes, each against its example, is the largest.
  const Sizes* widest = nullptr;
  double most = 0;
  for (const Sizes& sizes : ran) {
    double least = INFINITY;
    for (size_t i = 0; i < sizes.size(); ++i) {
      const auto times = static_cast<double>(sizes[i]) /
                         static_cast<double>(std::max<int64_t>((*free)[i].example, 1));
      if (open[i]) least = std::min(least, times);
    }
    if (least > most && least < INFINITY) most = least, widest = &sizes;
  }
  bool changed = false;
  for (size_t i = 0; i < free->size() && widest != nullptr; ++i) {
    FreeSize& f = (*free)[i];
    if (!open[i]) {
      int64_t tried = f.example;
      for (const Sizes& sizes : ran) tried = std::max(tried, sizes[i]);
      if (tried < f.max && reads_size(runs, i)) {
        warn_text(
            "capture-range",
            fmt::format("[capture] \"{}\" was tried up to {} and is promised up to {}: forward "
                        "reads it as a number, behind which a threshold may hide",
                        f.symbol, tried, f.max));
      }
      continue;
    }
    f.max = std::max({f.min, f.example, (*widest)[i]});
    changed = true;
    warn_text("capture-range",
              fmt::format("[capture] \"{}\" is free up to {}, the largest that was tried: forward "
                          "reads it as a number, behind which a threshold may hide; give "
                          "DynamicDim::max for another bound",
                          f.symbol, f.max));
  }
  return changed;
}

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

ir::Graph capture_call(nn::Module& module, const std::vector<CaptureInput>& given,
                       const CaptureCall& call, const CaptureOptions& options) {
  std::vector<CaptureInput> inputs = given;
  for (CaptureInput& in : inputs) {
    for (DynamicDim& d : in.dynamic) {
      if (d.dim < 0 && in.example.defined()) d.dim += in.example.rank();
    }
    check_input(in);
  }
  const TripLimitScope limit(kMostTrips);
  Runs runs(module, inputs, call);
  std::vector<CaptureRun> all;
  all.push_back(runs.first());
  int64_t number = 0;
  for (const Sizes& sizes : further_sizes(runs.free())) all.push_back(runs.at(sizes, number++));
  std::vector<FreeSize> free = runs.free();
  const std::vector<std::string> names = names_of(options, all[0].graph.outputs().size());
  // An expression that few sizes do not settle may be wrong at another: then that size is one more
  // run to find it from.
  bool settled = false;  // only bounds are new
  for (int round = 0;; ++round) {
    ir::Graph graph;
    std::vector<ir::ValueId> seen;  // by forward
    for (const CaptureInput& in : inputs) seen.push_back(add_input(graph, in, free));
    const std::set<std::string> doubtful = merge_captures(all, free, inputs, seen, names, graph);
    graph.labels = options.labels;
    ir::verify(graph, "after capture");
    if (!options.verify || settled) return graph;
    std::vector<Sizes> sizes = unseen_sizes(free);  // what no expression was found from
    for (const CaptureRun& run : all) sizes.push_back(run.sizes);
    if (reads_sizes(all)) {
      const std::vector<Sizes> many = many_sizes(free);
      sizes.insert(sizes.end(), many.begin(), many.end());
    }
    std::vector<Sizes> ran;
    const double seconds = doubtful.empty() ? kSeconds : kDoubtfulSeconds;
    const auto fault = verify_capture(graph, inputs, call, free, sizes, seconds, &ran);
    if (fault) {
      const bool known = std::any_of(all.begin(), all.end(),
                                     [&](const CaptureRun& r) { return r.sizes == fault->sizes; });
      if (known || !reads_sizes(all) || round == kMostRounds) {
        throw Error("[capture] " + fault->text +
                    ". What a graph cannot hold: state that changes from call to call, values from "
                    "outside of its inputs, a number that no simple expression of the sizes gives");
      }
      all.push_back(runs.at(fault->sizes, number++));
      continue;
    }
    if (!narrow(doubtful, all, ran, &free)) return graph;
    settled = true;
  }
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
