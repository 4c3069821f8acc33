#include "tools/lib/verify/checked.h"

#include <fmt/core.h>

#include "graph/rewrite/checked.h"
#include "tools/lib/limits.h"
#include "tools/lib/program_graph.h"
#include "tools/lib/trust.h"
#include "tools/lib/verify/rows.h"
#include "wick/error.h"

namespace wick::tool {
namespace {

// Steps (op_work) of the interpreter's plain loops that take about a second.
constexpr double kQuickWork = 1e9;
constexpr double kQuickSeconds = 10;  // of a session's runs
// Values of a graph that are kept while a pass is checked; those behind the pass are kept beside.
constexpr uint64_t kQuickKept = uint64_t{80} << 20;  // bytes
// Weights are copied, hashed and packed once more for a check: these take about as long.
constexpr uint64_t kQuickBytes = uint64_t{256} << 20;

uint64_t weight_bytes(const ir::Graph& graph) {
  uint64_t bytes = 0;
  for (size_t v = 0; v < graph.value_count(); ++v)
    bytes += graph.value(static_cast<ir::ValueId>(v)).constant.nbytes();
  return bytes;
}

const char* too_large(const ir::Graph& graph) {
  return weight_bytes(graph) > kQuickBytes ? "its weights are over 256 MiB" : nullptr;
}

// Returns the bytes that a check's session may hold: the weights are in it as they are, and packed.
uint64_t quick_bytes(const ir::Graph& graph) { return kQuickHeld + 2 * weight_bytes(graph); }

std::vector<HostTensor> small_sample(const ir::Graph& graph, const std::vector<std::string>& dims) {
  const Model model = Model::from_graph(graph, false);
  Runner runner(model, {"cpu", 1, false, nullptr});
  return size_samples(runner.session(), model.program(), dims, {1})[0].inputs;
}

// Returns the inputs of a larger size on which the graph runs; nothing if there is none.
std::optional<std::vector<HostTensor>> larger_inputs(const ir::Graph& graph,
                                                     const CheckPasses& check) {
  const Model model = Model::from_graph(graph, false);
  Runner runner(model, {"cpu", 1, false, nullptr});
  double left = kQuickWork;
  ir::InterpreterOptions budget;
  budget.work_left = &left;
  budget.max_bytes = kQuickHeld;
  std::optional<VerifySample> found =
      larger_sample(runner.session(), model.program(), check.dims,
                    [&](VerifySample* s) { ir::run(graph, s->inputs, budget); });
  if (!found) return std::nullopt;
  return std::move(found->inputs);
}

// Finds where a file differs: compares the session with the file's graph on plain loops, then that
// graph with the one that it was made from.
void find_difference(ir::Graph root, const Model& file, bool wick, ir::Numerics numerics,
                     VerifySample* s, VerifyRow* row) {
  double left = kQuickWork * 10;
  ir::InterpreterOptions budget;
  budget.work_left = &left;
  budget.max_bytes = kQuickHeld;
  constexpr uint64_t kMostKept = 4 * kQuickKept;
  s->truth = ir::named_values(root, s->inputs, budget, kMostKept);
  ir::Graph written = wick ? program_graph(file.program()) : *file.graph();
  if (wick) {
    ir::optimize(root);
    ir::name_values(root, "%optimized.");
    for (auto& [name, value] : ir::named_values(root, s->inputs, budget, kMostKept))
      s->truth.emplace(name, value);
  }
  take_names(&written, root);
  ir::name_values(written, "%file.");
  const auto look = [&](ir::Promise promise, Side side, const ir::GivenValues& given) {
    compare_beside(written, s->inputs, given, promise, side, budget, row);
  };
  const SessionValues session = session_values(written, s->inputs, {"cpu", 1, false, nullptr});
  if (!session.spoiled.empty()) set_spoiled(row, written, session.spoiled[0]);
  if (!row->first) look(ir::Promise::kBits, Side::kMadeIsTruth, session.values);
  if (!row->first) look(ir::promise_of(numerics), Side::kGivenIsTruth, s->truth);
}

// A sample of a graph and a file of it, with the graph's outputs.
struct RanSample {
  VerifySample sample;
  std::vector<HostTensor> outputs;
  bool larger = false;  // of no small size
};

// Returns the first that the graph runs on: the inputs given, a small size, larger ones. Throws
// Error with what is in the way of the small size.
RanSample first_to_run(const ir::Graph& root, Runner& runner, const Program& program,
                       const CheckFile& check) {
  double left = kQuickWork;
  ir::InterpreterOptions budget;
  budget.work_left = &left;
  budget.max_bytes = kQuickHeld;
  RanSample ran;
  const auto run = [&](VerifySample* s) {
    try {
      ran.outputs = ir::run(root, s->inputs, budget);
    } catch (const Error& e) {
      if (e.code() != Code::kBudgetExceeded) throw;
      throw Error("it would take more than a few seconds", e.code());
    }
  };
  if (!check.inputs.empty()) {
    try {
      std::string sizes = "the data's";
      for (const HostTensor& t : check.inputs) sizes += fmt::format(" {}", to_text(t.shape()).text);
      ran.sample = {sizes, check.inputs, {}};
      run(&ran.sample);
      return ran;
    } catch (const Error&) {  // a smaller size may do
      left = kQuickWork;
    }
  }
  try {
    ran.sample = size_samples(runner.session(), program, check.dims, {1})[0];
    run(&ran.sample);
    return ran;
  } catch (const Error& e) {
    if (ran_out(e)) throw;
    std::optional<VerifySample> larger = larger_sample(runner.session(), program, check.dims, run);
    if (!larger) throw;
    ran.sample = std::move(*larger);
    ran.larger = true;
    return ran;
  }
}

}  // namespace

ir::PassReport optimize_checked(ir::Graph* graph, const CheckPasses& check) {
  ir::OptimizeOptions options;
  options.chains = check.chains;
  options.products = check.products;
  options.fold_bytes = check.fold_bytes;
  std::string unchecked;
  const ir::Graph before = *graph;
  if (check.look || check.always) {
    const char* large = check.always ? nullptr : too_large(*graph);
    if (large != nullptr) {
      unchecked = large;
    } else {
      std::optional<QuickLimits> limits;
      if (!check.always) {
        limits.emplace(quick_bytes(*graph), kQuickSeconds);
        options.check_work = kQuickWork;
        options.check_bytes = kQuickKept;
      }
      try {
        options.samples = {small_sample(*graph, check.dims)};
        return ir::optimize(*graph, options);
      } catch (const Error& e) {  // no sample can be made up, or the graph does not run on it
        *graph = before;
        const auto larger = ran_out(e) ? std::nullopt : larger_inputs(*graph, check);
        if (larger) {
          options.samples = {*larger};
          return ir::optimize(*graph, options);
        }
        if (check.always) throw;
        unchecked = e.what();
      }
    }
  }
  options.samples.clear();
  ir::PassReport report = ir::optimize(*graph, options);
  report.unchecked = unchecked;
  return report;
}

VerifyRow verify_file(const ir::Graph& graph, const std::string& path, const CheckFile& check) {
  VerifyRow row;
  row.model = path;
  row.target = "the file";
  const auto skip = [&](const std::string& why) {
    row.verdict = VerifyRow::Verdict::kSkipped;
    row.why = why;
    return row;
  };
  if (const char* large = too_large(graph)) return skip(large);
  const OwnFiles own;
  const bool wick = is_wick_file(path);
  const Model file = Model::open_whole(path, {.lower_qdq = check.lower_qdq});
  const NumericsClass numerics =
      wick ? file.program().provenance().numerics : NumericsClass::kExact;
  row.numerics = ir::numerics_name(static_cast<ir::Numerics>(numerics));
  const QuickLimits limits(quick_bytes(graph), kQuickSeconds);
  std::optional<Runner> runner;
  ir::Graph root = graph;
  ir::name_values(root, "%");
  RanSample ran;
  try {
    runner.emplace(file, RunnerOptions{"cpu", 1, false, nullptr});
    ran = first_to_run(root, *runner, file.program(), check);
  } catch (const Error& e) {  // no sample can be made up, or the graph does not run on it
    return skip(e.what());
  }
  VerifySample& s = ran.sample;
  row.sizes = s.sizes;
  if (ran.larger) row.why = "the model runs at none of the smaller sizes that were tried";
  std::string differs;  // the output that does
  try {
    const std::vector<HostTensor> out = runner->run(s.inputs);
    for (size_t i = 0; i < out.size() && i < ran.outputs.size(); ++i) {
      ++row.values;
      if (differs.empty() && ir::apart(ran.outputs[i], out[i], ir::Promise::kBits, 0).differs)
        differs = graph.outputs()[i].name;
    }
  } catch (const Error& e) {
    if (ran_out(e)) return skip(e.what());
    row.verdict = VerifyRow::Verdict::kDiffers;
    row.first = FirstDifference{};
    row.first->why = fmt::format("it does not run where the graph does: {}", e.what());
    return row;
  }
  if (differs.empty()) return row;
  try {
    find_difference(root, file, wick, static_cast<ir::Numerics>(numerics), &s, &row);
  } catch (const Error& e) {
    if (!ran_out(e)) throw;
    if (numerics != NumericsClass::kExact) return skip(e.what());
    row.verdict = VerifyRow::Verdict::kDiffers;
    row.first = FirstDifference{};
    row.first->why = fmt::format("output '{}' (where was not found: {})", differs, e.what());
  }
  return row;
}

}  // namespace wick::tool
