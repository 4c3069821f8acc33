// The installed library below the command line, and the capstone's report with it.
#include "wick/tools.h"
#include "tools/submission/submission.h"

int main() {
  namespace tool = wick::tool;
  wick::ir::Graph graph;
  const wick::ir::ValueId x = graph.add_input("x", wick::DType::kF32, {4});
  graph.add_output("y", graph.emit(wick::OpId::kRelu, {x}));
  const tool::Model model = tool::Model::from_graph(graph, true);
  tool::NodeTimes times;
  tool::Runner runner(model, {.trace = &times});
  const tool::Sample made = tool::sample_inputs(runner.session(), model.program(), {});
  const bool same = tool::difference(runner.run(made.inputs)[0], runner.run(made.inputs)[0]).bits;
  return same && times.in_order().size() == 1 && wick::submission_schema()[0] == '{' ? 0 : 1;
}
