#include "tools/lib/verify/checked.h"

#include <fmt/core.h>

#include "graph/rewrite/checked.h"
#include "tools/lib/program_graph.h"
#include "tools/lib/trust.h"
#include "tools/lib/verify/rows.h"
#include "wick/error.h"

namespace wick::tool {
namespace {

// Steps (op_work) of the interpreter's plain loops that take about a second.
constexpr double kQuickWork = 1e9;
constexpr uint64_t kQuickHeld = uint64_t{1} << 26;  // bytes of values at one time
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

VerifySample small_sample(const ir::Graph& graph, const std::vector<std::string>& dims) {
  const Model model = Model::from_graph(graph, false);
  Runner runner(model, {"cpu", 1, false, nullptr});
  return size_samples(runner.session(), model.program(), dims, {1})[0];
}

}  // namespace

ir::PassReport optimize_checked(ir::Graph* graph, const CheckPasses& check) {
  ir::OptimizeOptions options;
  options.chains = check.chains;
  options.products = check.products;
  std::string unchecked;
  const ir::Graph before = *graph;
  if (check.look || check.always) {
    const char* large = check.always ? nullptr : too_large(*graph);
    if (large != nullptr) {
      unchecked = large;
    } else {
      try {
        options.samples = {small_sample(*graph, check.dims).inputs};
        if (!check.always) options.check_work = kQuickWork;
        return ir::optimize(*graph, options);
      } catch (const Error& e) {  // no sample can be made up, or the graph does not run on it
        if (check.always) throw;
        unchecked = e.what();
        *graph = before;
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
  Runner runner(file, {"cpu", 1, false, nullptr});
  ir::Graph root = graph;
  ir::name_values(root, "%");
  VerifySample s;
  double left = kQuickWork;
  ir::InterpreterOptions budget;
  budget.work_left = &left;
  budget.max_bytes = kQuickHeld;
  try {
    s = size_samples(runner.session(), file.program(), check.dims, {1})[0];
    row.sizes = s.sizes;
    s.truth = ir::named_values(root, s.inputs, budget);
  } catch (const Error& e) {  // no sample can be made up, or the graph does not run on it
    return skip(e.code() == Code::kBudgetExceeded ? "it would take more than a few seconds"
                                                  : e.what());
  }
  bool equal = true;
  try {
    const std::vector<HostTensor> out = runner.run(s.inputs);
    for (size_t i = 0; i < out.size() && i < graph.outputs().size(); ++i) {
      ++row.values;
      equal = equal && same_bits(out[i], s.truth.at(graph.outputs()[i].name));
    }
  } catch (const Error& e) {
    row.verdict = VerifyRow::Verdict::kDiffers;
    row.first = FirstDifference{};
    row.first->why = fmt::format("it does not run where the graph does: {}", e.what());
    return row;
  }
  if (equal) return row;
  // Finds where it differs: compares the session with the file's graph on plain loops, then that
  // graph with the one that it was made from.
  ir::Graph written = wick ? program_graph(file.program()) : *file.graph();
  if (wick) {
    ir::optimize(root);
    ir::name_values(root, "%optimized.");
    for (auto& [name, value] : ir::named_values(root, s.inputs)) s.truth.emplace(name, value);
  }
  take_names(&written, root);
  ir::name_values(written, "%file.");
  const auto look = [&](ir::Promise promise, bool made_is_truth, const ir::GivenValues& given) {
    ir::run_beside(written, s.inputs, given, promise, [&](const ir::Beside& b) {
      const HostTensor& truth = made_is_truth ? b.made : b.given;
      const HostTensor& got = made_is_truth ? b.given : b.made;
      const ir::Apart d = ir::apart(truth, got, promise, b.bound);
      if (!d.differs) return true;
      set_first(&row, written, written.node(b.node).outputs[b.output], truth, got, d, b.bound);
      return false;
    });
  };
  const SessionValues session = session_values(written, s.inputs, {"cpu", 1, false, nullptr});
  if (!session.spoiled.empty()) set_spoiled(&row, written, session.spoiled[0]);
  if (!row.first) look(ir::Promise::kBits, true, session.values);
  if (!row.first) look(ir::promise_of(static_cast<ir::Numerics>(numerics)), false, s.truth);
  return row;
}

}  // namespace wick::tool
