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

void refuse_device(const std::string& name, const Tensor& t) {
  if (!t.is_vulkan()) return;
  throw Error("[capture] \"" + name + "\" is on a Vulkan device, and forward is run on the CPU: " +
              "call to(\"cpu\") on the module, and give examples of the CPU");
}

void check_input(const CaptureInput& in) {
  if (!in.example.defined()) throw Error("[capture] input \"" + in.name + "\" has no example");
  refuse_device(in.name, in.example);
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

// One capture: the state that all its runs share.
class Runs {
 public:
  Runs(nn::Module& module, const std::vector<CaptureInput>& inputs, const CaptureCall& call,
       std::vector<FreeSize> free)
      : module_(module), inputs_(inputs), call_(call), free_(std::move(free)) {}

  CaptureRun first() {
    std::vector<Tensor> examples;
    // A model may write into its input, so it gets a copy of the caller's.
    for (const CaptureInput& in : inputs_) examples.push_back(in.example.detach().clone());
    return trace(examples, example_sizes(free_));
  }

  // Runs at sizes other than the example's. The bounds allow them, so it is an error if the model
  // does not run there.
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
      SizeLogScope sizes_of(&tracer.sizes());
      results = call_(examples);
    }
    for (size_t i = 0; i < results.size(); ++i)
      run.graph.add_output(std::to_string(i), tracer.result(results[i]));
    ir::verify(run.graph, "after capture");
    run.log = std::move(tracer.sizes());
    run.region_values = tracer.region_values();
    return run;
  }

  nn::Module& module_;
  const std::vector<CaptureInput>& inputs_;
  const CaptureCall& call_;
  std::vector<FreeSize> free_;
  SharedWeights weights_;
};

constexpr int64_t kMostTrips = 50000;  // limit for a while_loop

// Returns whether forward read a size that is free.
bool reads_sizes(const std::vector<CaptureRun>& runs) {
  for (const CaptureRun& run : runs) {
    const auto &mine = run.log.entries(), &first = runs[0].log.entries();
    for (size_t i = 0; i < mine.size(); ++i) {
      if (i >= first.size() || mine[i].number != first[i].number) return true;
    }
  }
  return false;
}

constexpr int kMostRounds = 24;
constexpr size_t kMostRuns = 64;
constexpr Work kWork = 1e9, kDoubtfulWork = 5e9;  // of comparing the graph with forward
// Limits of memory: a tracing run keeps every result; a run that is only compared does not.
constexpr double kMostBytes = 512e6;
constexpr double kClimbBytes = 256e6;
constexpr Work kClimbWork = 4e9;

// Returns the bytes of the graph's values at these sizes.
double bytes_at(const ir::Graph& graph, const std::vector<FreeSize>& free, const Sizes& at) {
  double bytes = 0;
  for (size_t v = 0; v < graph.value_count(); ++v) {
    const ir::Value& value = graph.value(static_cast<ir::ValueId>(v));
    if (!value.ranked || graph.is_constant(static_cast<ir::ValueId>(v))) continue;
    double n = static_cast<double>(dtype_size(value.dtype));
    for (const SymDim& d : value.shape) {
      bool known = !is_open(d);
      d.each_symbol([&](const std::string& name, int64_t, int64_t) {
        known = known && std::any_of(free.begin(), free.end(),
                                     [&](const FreeSize& f) { return f.symbol == name; });
      });
      if (known) n *= static_cast<double>(std::max<int64_t>(evaluate(d, free, at), 0));
    }
    bytes += n;
  }
  return bytes;
}

// Returns whether nobody stated an upper bound for this size.
bool unstated(const FreeSize& f) { return f.max == DynamicDim().max; }

// Ends the bound of a size before `other`, at which a comparison has another answer. Only a bound
// that nobody stated may be changed; otherwise it is an Error.
void end_before(const Sizes& other, const std::string& what, std::vector<FreeSize>* free) {
  for (size_t i = 0; i < free->size(); ++i) {
    FreeSize& f = (*free)[i];
    if (other[i] <= f.example || !unstated(f)) continue;
    f.max = std::max(f.min, other[i] - f.multiple);
    warn_text("capture-range",
              fmt::format("[capture] \"{}\" is free up to {}: {}", f.symbol, f.max, what));
    return;
  }
  throw Error("[capture] " + what + bounds_hint(*free, other));
}

// Adds runs in which comparisons of sizes have their other answer. If forward is too large to be
// run there, the bounds end before that.
enum class Answered : uint8_t { kAll, kMoreRuns, kOtherBounds };
Answered answer_both_ways(SizeUse& use, const ir::Graph& graph, Runs& runs, int64_t* number,
                          std::vector<FreeSize>* free, std::vector<CaptureRun>* all) {
  Answered answered = Answered::kAll;
  for (const SizeGuard& guard : use.guards) {
    const auto other = other_way(guard, *free);
    if (!other) continue;
    if (all->size() >= kMostRuns) {  // what is left is not followed
      for (const SymDim* d : {&guard.a, &guard.b}) {
        d->each_symbol([&](const std::string& name, int64_t, int64_t) {
          use.escaped.emplace(name, guard.line);
        });
      }
      continue;
    }
    if (std::any_of(all->begin(), all->end(),
                    [&](const CaptureRun& r) { return r.sizes == *other; }))
      continue;
    const std::string compared =
        fmt::format("{} is {} at {} and not at {} (a size read at {})", guard.text(), guard.yes,
                    sizes_text(*free, example_sizes(*free)), sizes_text(*free, *other), guard.line);
    if (bytes_at(graph, *free, *other) > kMostBytes) {
      end_before(*other, compared + ", where forward is too large to be run", free);
      return Answered::kOtherBounds;
    }
    all->push_back(runs.at(*other, (*number)++));
    answered = Answered::kMoreRuns;
  }
  return answered;
}

// Verifies at sizes far beyond the example's, for symbols that few sizes do not determine: all of
// them are doubled together as long as the values stay small and a run is expected to be little
// work, and up to their bounds.
std::optional<CaptureFault> climb(const ir::Graph& graph, const std::vector<CaptureInput>& inputs,
                                  const CaptureCall& call, const std::vector<FreeSize>& free,
                                  const SizeUse& use, std::vector<Sizes>* ran) {
  std::vector<size_t> open;
  for (size_t i = 0; i < free.size(); ++i) {
    if (use.doubtful.count(free[i].symbol) != 0 || use.escaped.count(free[i].symbol) != 0)
      open.push_back(i);
  }
  Sizes last = example_sizes(free);
  Work spent = 0, last_run = 0;
  for (int64_t times = 2; !open.empty(); times *= 2) {
    Sizes at = example_sizes(free);
    for (size_t i : open) at[i] = std::clamp(at[i] * times, free[i].min, free[i].max);
    const double bytes = bytes_at(graph, free, at), before = bytes_at(graph, free, last);
    if (at == last || bytes > kClimbBytes) return {};
    if (spent + last_run * bytes / std::max(before, 1.0) > kClimbWork) return {};
    last_run = -spent;
    if (auto fault = verify_capture(graph, inputs, call, free, {at}, kClimbWork, ran, &spent))
      return fault;
    last_run += spent;
    last = at;
  }
  return {};
}

// Limits a size that became a plain integer, or that is in an expression which few sizes do not
// determine, to the range in which it was tried together with the others, if nobody stated an upper
// bound: there may be a threshold beyond. Returns whether a bound changed.
bool narrow(const SizeUse& use, const std::vector<Sizes>& ran, std::vector<FreeSize>* free) {
  auto line = [&](const FreeSize& f) {
    const auto at = use.escaped.find(f.symbol);
    return at == use.escaped.end() ? std::string() : at->second;
  };
  std::vector<bool> open(free->size());
  for (size_t i = 0; i < free->size(); ++i) {
    const FreeSize& f = (*free)[i];
    open[i] = unstated(f) && (use.doubtful.count(f.symbol) != 0 || !line(f).empty());
  }
  // The run whose smallest ratio of a size to the example's is the largest.
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
    const std::string why = line(f).empty()
                                ? "an expression of it is not settled by the sizes that were tried"
                                : "forward makes a plain integer of it (read at " + line(f) +
                                      "), behind which a threshold may hide";
    if (!open[i]) {
      int64_t tried = f.example;
      for (const Sizes& sizes : ran) tried = std::max(tried, sizes[i]);
      if (tried < f.max && !unstated(f) && !line(f).empty()) {
        warn_text("capture-range",
                  fmt::format("[capture] \"{}\" was tried up to {} and is promised up to {}: {}",
                              f.symbol, tried, f.max, why));
      }
      continue;
    }
    const int64_t tried = std::max({f.min, f.example, (*widest)[i]});
    if (tried >= f.max) continue;
    f.max = tried;
    changed = true;
    warn_text("capture-range",
              fmt::format("[capture] \"{}\" is free up to {}, the largest that was tried: {}; give "
                          "DynamicDim::max for another bound",
                          f.symbol, f.max, why));
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

// Forward fails at a size beyond the example's that has no stated upper bound: ends the bound at
// the largest size at which it runs, one dimension at a time. Returns false if it fails for another
// reason, or runs again at larger sizes (it may need multiples).
bool ends_where_it_runs(const FailsAt& failure, const std::vector<CaptureInput>& inputs,
                        const CaptureCall& call, std::vector<FreeSize>* free) {
  GradMode no_grad(false);
  for (size_t i = 0; i < free->size(); ++i) {
    FreeSize& f = (*free)[i];
    if (!unstated(f) || failure.sizes()[i] <= f.example) continue;
    auto runs_at = [&](int64_t size) {
      Sizes at = example_sizes(*free);
      at[i] = size;
      try {
        call(examples_at(inputs, *free, at, 0).forward);
        return true;
      } catch (const std::exception&) {
        return false;
      }
    };
    int64_t runs = f.example, fails = failure.sizes()[i];
    if (!runs_at(runs) || runs_at(fails)) continue;
    while (fails - runs > f.multiple) {
      const int64_t middle = runs + (fails - runs) / f.multiple / 2 * f.multiple;
      (runs_at(middle) ? runs : fails) = middle;
    }
    constexpr int64_t kBehind = 16;
    for (int64_t n = 1; n <= kBehind; ++n) {
      if (runs_at(fails + n * f.multiple)) return false;
    }
    f.max = runs;
    warn_text("capture-range",
              fmt::format("[capture] \"{}\" is free up to {}, at {} forward fails: {}", f.symbol,
                          runs, fails, failure.why()));
    return true;
  }
  return false;
}

// Forward fails at a size below the example's. If it runs there with integers below that size, they
// are places along the dimension (the edges of a graph name its nodes), and all runs have such.
bool runs_with_fewer_places(const FailsAt& failure, const std::vector<CaptureInput>& inputs,
                            const CaptureCall& call, std::vector<FreeSize>* free) {
  GradMode no_grad(false);
  for (size_t i = 0; i < free->size(); ++i) {
    FreeSize& f = (*free)[i];
    if (f.places || failure.sizes()[i] >= f.example) continue;
    f.places = true;
    try {
      call(examples_at(inputs, *free, failure.sizes(), 0).forward);
      return true;
    } catch (const std::exception&) {
      f.places = false;
    }
  }
  return false;
}

ir::Graph capture_within(nn::Module& module, const std::vector<CaptureInput>& inputs,
                         const CaptureCall& call, const CaptureOptions& options,
                         std::vector<FreeSize> free) {
  Runs runs(module, inputs, call, free);
  std::vector<CaptureRun> all;
  all.push_back(runs.first());
  int64_t number = 0;
  for (const Sizes& sizes : further_sizes(free)) all.push_back(runs.at(sizes, number++));
  const std::vector<std::string> names = names_of(options, all[0].graph.outputs().size());
  // An expression that few sizes do not determine may be wrong at another size: then that size is
  // one more run to find it from.
  bool settled = false;  // true if only bounds changed
  for (int round = 0;; ++round) {
    ir::Graph graph;
    std::vector<ir::ValueId> seen;  // the values that forward sees
    for (const CaptureInput& in : inputs) seen.push_back(add_input(graph, in, free));
    SizeUse use = merge_captures(all, free, inputs, seen, names, graph);
    graph.labels = options.labels;
    for (const FreeSize& f : free) {
      if (f.multiple > 1)
        graph.metadata["wick.multiple_of." + f.symbol] = std::to_string(f.multiple);
    }
    ir::verify(graph, "after capture");
    if (!settled && round < kMostRounds) {
      if (answer_both_ways(use, graph, runs, &number, &free, &all) != Answered::kAll) continue;
    }
    if (!options.verify) graph.metadata["wick.capture"] = "not verified";
    if (!options.verify || settled) return graph;
    std::vector<Sizes> unseen = unseen_sizes(free), sizes;  // no expression was found from them
    for (const CaptureRun& run : all) sizes.push_back(run.sizes);
    const bool doubt = !use.doubtful.empty() || !use.escaped.empty();
    if (reads_sizes(all)) {
      const std::vector<Sizes> many = many_sizes(free);
      sizes.insert(sizes.end(), many.begin(), many.end());
    }
    // Attention over all pixels takes gigabytes at a size that is usual elsewhere: such a run would
    // take the time of all others. Small ones first, as many as the work allows.
    std::erase_if(unseen, [&](const Sizes& at) { return bytes_at(graph, free, at) > kMostBytes; });
    std::vector<std::pair<double, Sizes>> by_bytes;
    for (const Sizes& at : sizes) by_bytes.emplace_back(bytes_at(graph, free, at), at);
    std::stable_sort(by_bytes.begin(), by_bytes.end(),
                     [](const auto& a, const auto& b) { return a.first < b.first; });
    sizes.clear();
    for (const auto& [bytes, at] : by_bytes)
      if (bytes <= kMostBytes) sizes.push_back(at);
    std::vector<Sizes> ran;
    Work spent = 0;
    const Work most = doubt ? kDoubtfulWork : kWork;
    auto fault = verify_capture(graph, inputs, call, free, unseen, most, &ran, &spent);
    if (!fault) fault = verify_capture(graph, inputs, call, free, sizes, most, &ran, &spent);
    if (!fault) fault = climb(graph, inputs, call, free, use, &ran);
    if (fault) {
      const bool known = std::any_of(all.begin(), all.end(),
                                     [&](const CaptureRun& r) { return r.sizes == fault->sizes; });
      if (known || !reads_sizes(all) || round >= kMostRounds) {
        throw RunsDiffer(
            "[capture] " + fault->text +
            ". What a graph cannot hold: state that changes from call to call, values from "
            "outside of its inputs, a number that no simple expression of the sizes gives");
      }
      all.push_back(runs.at(fault->sizes, number++));
      continue;
    }
    if (!narrow(use, ran, &free)) return graph;
    settled = true;
  }
}

ir::Graph capture_where_it_runs(nn::Module& module, const std::vector<CaptureInput>& inputs,
                                const CaptureCall& call, const CaptureOptions& options) {
  std::vector<FreeSize> free = free_sizes(inputs);
  while (true) {
    try {
      return capture_within(module, inputs, call, options, free);
    } catch (const FailsAt& failure) {
      if (!ends_where_it_runs(failure, inputs, call, &free) &&
          !runs_with_fewer_places(failure, inputs, call, &free))
        throw;
    }
  }
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
  for (const auto& [name, tensor] : module.state_dict()) refuse_device(name, tensor);
  const TripLimitScope limit(kMostTrips);
  try {
    return capture_where_it_runs(module, inputs, call, options);
  } catch (const RunsDiffer& e) {
    // To a graph a mask that is drawn in training is a number from nowhere.
    if (!module.training()) throw;
    throw Error(std::string(e.what()) +
                ". The module is in training mode: call eval() on it first");
  }
}

ir::Graph capture(nn::Module& module, const std::vector<CaptureInput>& inputs,
                  const CaptureOptions& options, Where where) {
  if (inputs.size() != 1) {
    throw Error(
        "[capture] a module's forward takes one tensor: give capture() a call for the "
        "inputs, [&](const Tensor& a, const Tensor& b) { return model.forward(a, b); }");
  }
  return capture_call(
      module, inputs,
      [&](const std::vector<Tensor>& in) { return std::vector{module(Arg(in[0], where))}; },
      options);
}

}  // namespace wick
