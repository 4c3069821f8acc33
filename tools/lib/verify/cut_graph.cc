#include "tools/lib/verify/cut_graph.h"

#include <algorithm>
#include <map>
#include <set>

#include "wick/error.h"

namespace wick::tool {
namespace {

using ir::NodeId;
using ir::ValueId;

ir::Value type_of(const HostTensor& t, const ir::Value& like) {
  ir::Value v;
  v.dtype = t.dtype();
  v.element = like.element;
  v.ranked = !is_container(t.dtype());
  for (int64_t d : t.shape()) {
    if (v.ranked) v.shape.push_back(SymDim(d));
  }
  return v;
}

}  // namespace

CutGraph cut_graph(const ir::Graph& graph, const std::vector<NodeId>& nodes,
                   const std::string& wanted, const ir::GivenValues& values) {
  CutGraph cut;
  std::map<ValueId, ValueId> have;
  std::set<NodeId> inside(nodes.begin(), nodes.end());
  const auto read = [&](ValueId v) -> ValueId {
    if (v == ir::kNoValue) return v;
    const auto known = have.find(v);
    if (known != have.end()) return known->second;
    const ir::Value& value = graph.value(v);
    if (graph.is_constant(v)) {
      have[v] = cut.graph.add_constant(value.constant, value.name, value.parameter);
    } else {
      const auto given = values.find(value.name);
      if (given == values.end()) throw Error("value '" + value.name + "' is not known");
      have[v] = cut.graph.add_input(value.name, type_of(given->second, value));
      cut.inputs.push_back(given->second);
    }
    return have[v];
  };
  for (NodeId id : inside) {  // in order: ids are
    const ir::Node& n = graph.node(id);
    std::vector<ValueId> in;
    for (ValueId v : n.inputs) in.push_back(read(v));
    std::vector<ir::Value> out(n.outputs.size());
    for (size_t k = 0; k < out.size(); ++k) out[k].name = graph.value(n.outputs[k]).name;
    const NodeId made =
        cut.graph.add_typed(n.op, n.attrs, std::move(in), n.regions, std::move(out), n.name);
    cut.graph.node(made).module = n.module;
    cut.graph.node(made).source = n.source;
    ++cut.nodes;
    for (size_t k = 0; k < n.outputs.size(); ++k) {
      const ValueId v = n.outputs[k];
      have[v] = cut.graph.node(made).outputs[k];
      const std::string& name = graph.value(v).name;
      if (name == wanted || graph.is_output(v)) cut.graph.add_output(name, have[v]);
    }
  }
  return cut;
}

CutGraph smallest_cut(const ir::Graph& graph, const std::string& wanted,
                      const ir::GivenValues& values, size_t most,
                      const std::function<bool(const CutGraph&)>& differs) {
  NodeId last = -1;
  for (size_t i = 0; i < graph.node_count(); ++i) {
    const ir::Node& n = graph.node(static_cast<NodeId>(i));
    for (ValueId v : n.outputs) {
      if (!n.removed() && graph.value(v).name == wanted) last = static_cast<NodeId>(i);
    }
  }
  for (const ir::GraphOutput& o : graph.outputs()) {
    if (last < 0 && o.name == wanted) last = graph.value(o.value).producer;
  }
  if (last < 0) return {};
  const auto shows = [&](const std::vector<NodeId>& nodes, CutGraph* cut) {
    try {
      *cut = cut_graph(graph, nodes, wanted, values);
      return differs(*cut);
    } catch (const Error&) {  // this part does not run alone
      return false;
    }
  };
  // Breadth first over sets of nodes that hang together: by one node more each time.
  std::vector<std::vector<NodeId>> sets = {{last}};
  std::set<std::vector<NodeId>> seen = {{last}};
  CutGraph cut;
  constexpr size_t kMostSets = 200;
  for (size_t size = 1; size <= most; ++size) {
    std::vector<std::vector<NodeId>> larger;
    for (const auto& nodes : sets) {
      if (shows(nodes, &cut)) return cut;
      for (NodeId id : nodes) {
        for (ValueId v : graph.node(id).inputs) {
          if (v == ir::kNoValue || graph.value(v).origin != ir::ValueOrigin::kNode) continue;
          std::vector<NodeId> more = nodes;
          const NodeId maker = graph.value(v).producer;
          if (std::find(more.begin(), more.end(), maker) != more.end()) continue;
          more.push_back(maker);
          std::sort(more.begin(), more.end());
          if (larger.size() < kMostSets && seen.insert(more).second) larger.push_back(more);
        }
      }
    }
    sets = std::move(larger);
  }
  std::set<NodeId> all;
  std::vector<NodeId> open = {last};
  while (!open.empty()) {
    const NodeId id = open.back();
    open.pop_back();
    if (!all.insert(id).second) continue;
    for (ValueId v : graph.node(id).inputs) {
      if (v != ir::kNoValue && graph.value(v).origin == ir::ValueOrigin::kNode)
        open.push_back(graph.value(v).producer);
    }
  }
  return shows({all.begin(), all.end()}, &cut) ? cut : CutGraph{};
}

}  // namespace wick::tool
