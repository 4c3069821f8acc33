#include "tools/lib/node_trace.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <utility>

#include "exporter/onnx/onnx.h"
#include "graph/interpreter/interpreter.h"
#include "runtime/core/plain_copy.h"
#include "tools/lib/difference.h"
#include "tools/lib/oracle.h"
#include "tools/lib/scratch_folder.h"

namespace wick::tool {
namespace {

bool apart(const Difference& d, double tolerance) {
  if (!d.comparable) return true;
  return tolerance > 0 ? !(d.max_rel <= tolerance) : !d.bits;
}

// Identifies the same step in two runs: a name may occur more than once and a node may have none,
// so the count of that name so far (or, without a name, of that op) is part of the key.
using Key = std::pair<std::string, int>;
Key key(const NodeTrace::Step& step, std::map<std::string, int>& seen) {
  std::string name = step.node.empty() ? "op " + step.op : "node " + step.node;
  int number = ++seen[name];
  return {name, number};
}

std::string step_text(const NodeTrace::Step& step, int number) {
  if (step.node.empty())
    return fmt::format("{} number {} of those without a name", step.op, number);
  if (number == 1) return fmt::format("{} {}", step.op, step.node);
  return fmt::format("{} {}, number {} of that name", step.op, step.node, number);
}

}  // namespace

HostTensor copy_of(const TensorView& v) {
  if (v.block == 0) return HostTensor(v.dtype, v.shape, v.data, v.nbytes());
  HostTensor t(v.dtype, v.shape);
  copy_plain(v, t.data());
  return t;
}

void NodeTrace::on_op(const TraceEvent& event) {
  if (std::strcmp(event.backend, "cpu") != 0) return;
  Step step{event.op, event.node, {}};
  for (const TensorView& v : event.out)
    step.outputs.push_back(v.present() ? copy_of(v) : HostTensor());
  steps_.push_back(std::move(step));
}

std::string first_difference(const NodeTrace& a, const NodeTrace& b, double tolerance) {
  std::map<Key, const NodeTrace::Step*> others;
  std::map<std::string, int> seen_a, seen_b;
  for (const NodeTrace::Step& step : b.steps()) others[key(step, seen_b)] = &step;
  for (const NodeTrace::Step& step : a.steps()) {
    Key k = key(step, seen_a);
    auto found = others.find(k);
    if (found == others.end()) continue;
    const NodeTrace::Step& other = *found->second;
    for (size_t i = 0; i < std::min(step.outputs.size(), other.outputs.size()); ++i) {
      if (!step.outputs[i].present() || !other.outputs[i].present()) continue;
      Difference d = difference(step.outputs[i], other.outputs[i]);
      if (apart(d, tolerance)) return fmt::format("{} ({})", step_text(step, k.second), d.text());
    }
  }
  return "";
}

std::string first_difference_from_onnxruntime(const ir::Graph& graph, Span<const HostTensor> inputs,
                                              double tolerance) {
  ir::Graph all = graph;
  std::vector<ir::NodeId> makers;
  std::vector<std::string> input_names, output_names;
  std::vector<HostTensor> ours;
  for (ir::ValueId id : all.inputs()) input_names.push_back(all.value(id).name);
  all.outputs().clear();
  ir::InterpreterOptions keep;
  keep.after_node = [&](ir::NodeId id, Span<const HostTensor> out) {
    for (size_t i = 0; i < out.size(); ++i) {
      std::string name = fmt::format("step{}", ours.size());
      all.add_output(name, graph.node(id).outputs[i]);
      makers.push_back(id);
      output_names.push_back(name);
      ours.push_back(out[i]);
    }
  };
  ir::run(graph, inputs, keep);
  ScratchFolder scratch;
  std::string model = scratch.file("every_node.onnx");
  export_onnx(all, model);
  std::vector<HostTensor> theirs = run_onnxruntime(model, input_names, inputs, output_names);
  for (size_t i = 0; i < ours.size(); ++i) {
    Difference d = difference(ours[i], theirs[i]);
    if (apart(d, tolerance))
      return fmt::format("{} ({})", ir::node_text(graph, makers[i]), d.text());
  }
  return "";
}

}  // namespace wick::tool
