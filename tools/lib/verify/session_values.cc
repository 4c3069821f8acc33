#include "tools/lib/verify/session_values.h"

#include <cstring>
#include <map>
#include <set>

#include "tools/lib/node_trace.h"

namespace wick::tool {
namespace {

bool overlap(const TensorView& a, const TensorView& b) {
  const auto* p = static_cast<const char*>(a.data);
  const auto* q = static_cast<const char*>(b.data);
  return p < q + b.nbytes() && q < p + a.nbytes();
}

class ValueTrace final : public TraceHook {
 public:
  ValueTrace(const ir::Graph& graph, SessionValues* all) : g_(graph), all_(all) {
    for (size_t i = 0; i < graph.node_count(); ++i) {
      const ir::Node& n = graph.node(static_cast<ir::NodeId>(i));
      if (!n.removed()) nodes_.emplace(n.name, &n);
    }
  }

  bool takes_blocks() const override { return true; }
  void on_op(const TraceEvent& event) override {
    const auto known = nodes_.find(event.node);
    if (known == nodes_.end() || std::strcmp(event.backend, "cpu") != 0) return;
    const ir::Node& n = *known->second;
    for (size_t i = 0; i < n.inputs.size() && i < event.in.size(); ++i) {
      if (n.inputs[i] == ir::kNoValue || !event.in[i].present()) continue;
      const ir::Value& v = g_.value(n.inputs[i]);
      bool overwritten = false;  // by this step, in place
      for (const TensorView& out : event.out)
        overwritten = overwritten || overlap(event.in[i], out);
      if (v.origin == ir::ValueOrigin::kNode && !overwritten) read(v.name, n.name, event.in[i]);
    }
    for (size_t k = 0; k < n.outputs.size() && k < event.out.size(); ++k) {
      if (event.out[k].present()) all_->values[g_.value(n.outputs[k]).name] = copy_of(event.out[k]);
    }
  }

 private:
  void read(const std::string& value, const std::string& reader, const TensorView& view) {
    HostTensor now = copy_of(view);
    const auto [made, fresh] = all_->values.emplace(value, now);
    if (!fresh && !same_bits(made->second, now))
      all_->spoiled.push_back({value, reader, made->second, now});
  }

  const ir::Graph& g_;
  std::map<std::string, const ir::Node*> nodes_;
  SessionValues* all_;
};

void rename_all(ir::Graph* region, const std::string& name) {
  for (size_t k = 0; k < region->node_count(); ++k) {
    ir::Node& n = region->node(static_cast<ir::NodeId>(k));
    n.name = name;
    for (ir::Graph& inner : n.regions) rename_all(&inner, name);
  }
}

// Names each node after its first value, so that a step identifies its node; nodes in regions get a
// name that no value has.
ir::Graph with_own_names(const ir::Graph& graph) {
  ir::Graph g = graph;
  for (size_t i = 0; i < g.node_count(); ++i) {
    ir::Node& n = g.node(static_cast<ir::NodeId>(i));
    if (n.removed()) continue;
    n.name = n.outputs.empty() ? "" : g.value(n.outputs[0]).name;
    for (ir::Graph& region : n.regions) rename_all(&region, "in a region of " + n.name);
  }
  return g;
}

ir::Graph with_all_outputs(const ir::Graph& graph) {
  ir::Graph g = graph;
  std::set<std::string> outputs;
  for (const ir::GraphOutput& o : g.outputs()) outputs.insert(o.name);
  for (const ir::Node& n : graph.nodes()) {
    if (n.removed()) continue;
    for (ir::ValueId v : n.outputs) {
      if (outputs.insert(g.value(v).name).second) g.add_output(g.value(v).name, v);
    }
  }
  return g;
}

}  // namespace

SessionValues session_values(const ir::Graph& graph, Span<const HostTensor> inputs,
                             const RunnerOptions& options) {
  const bool device = options.backend != "cpu";
  const ir::Graph g = device ? with_all_outputs(graph) : with_own_names(graph);
  SessionValues all;
  ValueTrace trace(g, &all);
  const Model model = Model::from_graph(g, false);
  RunnerOptions traced = options;
  if (!device) traced.trace = &trace;
  Runner runner(model, traced);
  const std::vector<HostTensor> outputs = runner.run(inputs);
  for (size_t i = 0; i < outputs.size(); ++i)
    all.values[runner.session().output(i).name] = outputs[i];
  return all;
}

}  // namespace wick::tool
