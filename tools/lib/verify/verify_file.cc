// What runs by itself behind export, convert and quantize.
#include <fmt/core.h>

#include "graph/rewrite/checked.h"
#include "tools/lib/program_graph.h"
#include "tools/lib/verify/rows.h"
#include "wick/error.h"

namespace wick::tool {
namespace {

// Steps (op_work) of the interpreter's plain loops: a second or two.
constexpr double kQuickWork = 2e9;

}  // namespace

VerifyRow verify_file(const ir::Graph& graph, const std::string& path,
                      const std::vector<std::string>& dims) {
  VerifyRow row;
  row.model = path;
  row.target = "the file";
  const bool wick = is_wick_file(path);
  const Model file = Model::open(path);
  const NumericsClass numerics =
      wick ? file.program().provenance().numerics : NumericsClass::kExact;
  row.numerics = ir::numerics_name(static_cast<ir::Numerics>(numerics));
  Runner runner(file, {"cpu", 1, false, nullptr});
  const auto skip = [&](const std::string& why) {
    row.verdict = VerifyRow::Verdict::kSkipped;
    row.why = why;
    return row;
  };
  std::vector<VerifySample> samples;
  try {
    samples = size_samples(runner.session(), file.program(), dims, {1});
  } catch (const Error& e) {  // no rank, a sequence
    return skip(e.what());
  }
  VerifySample& s = samples[0];
  row.sizes = s.sizes;
  double left = kQuickWork;
  ir::InterpreterOptions budget;
  budget.work_left = &left;
  std::vector<HostTensor> out;
  try {
    s.truth = ir::named_values(graph, s.inputs, budget);
  } catch (const Error& e) {
    return skip(e.code() == Code::kBudgetExceeded ? "it would take more than a few seconds"
                                                  : e.what());
  }
  out = runner.run(s.inputs);
  bool equal = true;
  for (size_t i = 0; i < out.size() && i < graph.outputs().size(); ++i) {
    ++row.values;
    equal = equal && same_bits(out[i], s.truth.at(graph.outputs()[i].name));
  }
  if (equal) return row;
  // Where it is: the file's graph on plain loops beside what it was made of, then its session.
  ir::Graph written = wick ? program_graph(file.program()) : *Model::open_whole(path).graph();
  ir::name_values(written, "%");
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
