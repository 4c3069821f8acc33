#include "tools/lib/verify/cut_graph.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "graph/rewrite/substitution.h"
#include "wick/error.h"

namespace wick::tool {
namespace {

using ir::NodeId;
using ir::ValueId;

// A size that differs in `other` becomes a symbol, the same one for the same two sizes.
ir::Value type_of(const HostTensor& t, const ir::Value& like, const HostTensor* other,
                  ir::Graph* graph) {
  ir::Value v;
  v.dtype = t.dtype();
  v.element = like.element;
  v.ranked = !is_container(t.dtype());
  for (int d = 0; v.ranked && d < t.shape().rank(); ++d) {
    const int64_t n = t.shape()[d];
    const bool free = other != nullptr && other->shape().rank() > d && other->shape()[d] != n;
    v.shape.push_back(free ? graph->symbol(fmt::format("n{}_{}", n, other->shape()[d]), 0)
                           : SymDim(n));
  }
  return v;
}

}  // namespace

CutGraph cut_graph(const ir::Graph& graph, const std::vector<NodeId>& nodes,
                   const std::string& wanted, const ir::GivenValues& values,
                   const ir::GivenValues* others) {
  CutGraph cut;
  cut.graph.set_edition(graph.edition());
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
      const auto at = others != nullptr ? others->find(value.name) : values.end();
      const HostTensor* other = others != nullptr && at != others->end() ? &at->second : nullptr;
      have[v] = cut.graph.add_input(value.name, type_of(given->second, value, other, &cut.graph));
      cut.inputs.push_back(given->second);
    }
    return have[v];
  };
  const auto leaves = [&](ValueId v) {
    return v != ir::kNoValue && (graph.value(v).name == wanted || graph.is_output(v));
  };
  std::set<ValueId> used;
  for (NodeId id : inside) {
    for (ValueId v : graph.node(id).inputs) used.insert(v);
  }
  for (ValueId v : graph.inputs()) {  // in the graph's own order
    if (used.count(v) != 0) read(v);
  }
  for (NodeId id : inside) {  // in order, as ids are
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
    const bool last = std::none_of(n.outputs.begin(), n.outputs.end(),
                                   [&](ValueId v) { return used.count(v) != 0 || leaves(v); });
    for (size_t k = 0; k < n.outputs.size(); ++k) {
      const ValueId v = n.outputs[k];
      have[v] = cut.graph.node(made).outputs[k];
      if (leaves(v) || (last && k == 0)) cut.graph.add_output(graph.value(v).name, have[v]);
    }
  }
  return cut;
}

namespace {

using Nodes = std::vector<NodeId>;

// Returns the nodes without as many as can be left out, in halves, quarters ... and one by one
// (delta debugging: Zeller and Hildebrandt, "Simplifying and isolating failure-inducing input",
// 2002).
Nodes reduced(Nodes nodes, const std::function<bool(const Nodes&)>& shows) {
  int trials = 300;
  for (size_t chunk = (nodes.size() + 1) / 2; chunk > 0;) {
    bool less = false;
    for (size_t i = 0; i < nodes.size() && nodes.size() > chunk && trials > 0;) {
      Nodes without = nodes;
      const auto from = without.begin() + static_cast<std::ptrdiff_t>(i);
      without.erase(from, from + static_cast<std::ptrdiff_t>(std::min(chunk, nodes.size() - i)));
      --trials;
      if (shows(without)) {
        nodes = std::move(without);
        less = true;
      } else {
        i += chunk;
      }
    }
    if (chunk > 1 || !less) chunk /= 2;
  }
  return nodes;
}

// Returns the cut without inputs that no node reads.
void drop_unread(CutGraph* cut) {
  const auto users = cut->graph.users();
  std::vector<ValueId> ids;
  std::vector<HostTensor> inputs;
  for (size_t i = 0; i < cut->inputs.size(); ++i) {
    const ValueId v = cut->graph.inputs()[i];
    if (users[ir::at(v)].empty()) continue;
    ids.push_back(v);
    inputs.push_back(cut->inputs[i]);
  }
  cut->graph.inputs() = std::move(ids);
  cut->inputs = std::move(inputs);
}

// Returns the cut without one of its nodes, in one of the ways there are: its readers read inputs
// instead (way 0), constants (1), or what it reads itself (2, 3 ...). Nothing: it cannot be done.
std::optional<CutGraph> without(const CutGraph& cut, NodeId id, size_t way,
                                const std::string& wanted, const ir::GivenValues& values) {
  CutGraph less = cut;
  ir::Graph& g = less.graph;
  const ir::Node n = g.node(id);
  const auto users = g.users();
  std::set<ValueId> gone;
  for (ValueId v : n.outputs) {
    const std::string name = g.value(v).name;
    const auto value = values.find(name);
    if (name == wanted) return std::nullopt;
    gone.insert(v);
    if (users[ir::at(v)].empty()) continue;
    if (way >= 2) {
      const ValueId in = way - 2 < n.inputs.size() ? n.inputs[way - 2] : ir::kNoValue;
      if (in == ir::kNoValue || n.outputs.size() > 1 || !n.regions.empty() ||
          g.value(in).dtype != g.value(v).dtype || !same_shape(g, in, v))
        return std::nullopt;
      g.replace_all(v, in);
    } else if (value == values.end()) {
      return std::nullopt;
    } else if (way == 1) {
      if (is_container(value->second.dtype())) return std::nullopt;
      g.replace_all(v, g.add_constant(value->second, name));
    } else {
      const ir::Value type = type_of(value->second, g.value(v), nullptr, &g);
      g.replace_all(v, g.add_input(name, type));
      less.inputs.push_back(value->second);
    }
  }
  g.remove_node(id);
  std::vector<ir::GraphOutput> outputs;
  for (const ir::GraphOutput& o : g.outputs()) {
    if (g.value(o.value).origin == ir::ValueOrigin::kNode && gone.count(o.value) == 0)
      outputs.push_back(o);
  }
  if (outputs.empty()) return std::nullopt;
  g.outputs() = outputs;
  --less.nodes;
  drop_unread(&less);
  g.compact();
  return less;
}

// Leaves out nodes, one at a time, as long as the difference is there.
CutGraph rewired(CutGraph cut, const std::string& wanted, const ir::GivenValues& values,
                 const std::function<bool(const CutGraph&)>& shows) {
  int trials = 100;
  for (size_t id = 0; id < cut.graph.node_count() && trials > 0;) {
    const size_t ways = 2 + cut.graph.node(static_cast<NodeId>(id)).inputs.size();
    std::optional<CutGraph> less;
    for (size_t way = 0; way < ways && trials > 0; ++way) {
      less = without(cut, static_cast<NodeId>(id), way, wanted, values);
      if (!less) continue;
      --trials;
      if (shows(*less)) break;
      less.reset();
    }
    if (!less) {
      ++id;
      continue;
    }
    cut = std::move(*less);
    id = 0;  // others may do without it now
  }
  return cut;
}

// Returns the node that makes the value, or the output, of that name; -1: there is none.
NodeId maker_of(const ir::Graph& graph, const std::string& wanted) {
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
  return last;
}

// Returns the node and all nodes that it is computed from, up to values for which `stops` is true.
Nodes made_of(const ir::Graph& graph, NodeId last, const std::function<bool(ValueId)>& stops) {
  std::set<NodeId> all;
  Nodes open = {last};
  while (!open.empty()) {
    const NodeId id = open.back();
    open.pop_back();
    if (!all.insert(id).second) continue;
    for (ValueId v : graph.node(id).inputs) {
      if (v != ir::kNoValue && graph.value(v).origin == ir::ValueOrigin::kNode && !stops(v))
        open.push_back(graph.value(v).producer);
    }
  }
  return {all.begin(), all.end()};
}

}  // namespace

std::vector<Scope> scopes_of(const ir::Graph& graph, const ir::GivenValues& values,
                             const ir::Place& place, bool enters, const std::string& value) {
  std::vector<Scope> scopes;
  ir::Place at = place;
  std::string wanted = value;
  for (bool skip = enters;; skip = false) {
    const ir::Graph* const region = ir::region_at(graph, at);
    if (region != nullptr && !skip) {
      scopes.push_back({region, {}, wanted});
      const std::string key = ir::inside_key(at, "");
      for (auto v = values.lower_bound(key); v != values.end() && v->first.starts_with(key); ++v)
        scopes.back().values.emplace(v->first.substr(key.size()), v->second);
    }
    if (at.empty()) return scopes;
    wanted = at.back().control;
    at.pop_back();
  }
}

CutGraph cut_between(const ir::Graph& graph, const std::string& wanted,
                     const std::vector<std::string>& inputs, const ir::GivenValues& values) {
  const NodeId last = maker_of(graph, wanted);
  if (last < 0) return {};
  const auto given = [&](ValueId v) {
    return std::find(inputs.begin(), inputs.end(), graph.value(v).name) != inputs.end();
  };
  CutGraph cut = cut_graph(graph, made_of(graph, last, given), wanted, values);
  for (ValueId v : cut.graph.inputs()) {
    const auto& name = cut.graph.value(v).name;
    if (std::find(inputs.begin(), inputs.end(), name) == inputs.end()) return {};
  }
  return cut.inputs.size() == inputs.size() ? std::move(cut) : CutGraph{};
}

CutGraph smallest_cut(const ir::Graph& graph, const std::string& wanted,
                      const ir::GivenValues& values, size_t most,
                      const std::function<bool(const CutGraph&)>& differs,
                      const ir::GivenValues* others, Rewire rewire) {
  const NodeId last = maker_of(graph, wanted);
  if (last < 0) return {};
  const auto cut_of = [&](const Nodes& nodes) {
    return cut_graph(graph, nodes, wanted, values, others);
  };
  const auto cut_shows = [&](const CutGraph& cut) {
    try {
      return differs(cut);
    } catch (const Error&) {  // this part does not run alone
      return false;
    }
  };
  const auto shows = [&](const Nodes& nodes) {
    try {
      return cut_shows(cut_of(nodes));
    } catch (const Error&) {  // a value is not known
      return false;
    }
  };
  const auto fewest = [&](const Nodes& nodes) {
    constexpr size_t kFew = 3;
    if (nodes.size() <= kFew) return cut_of(nodes);
    CutGraph cut = cut_of(reduced(nodes, shows));
    if (cut.nodes <= kFew || rewire == Rewire::kNo) return cut;
    return rewired(std::move(cut), wanted, values, cut_shows);
  };
  // Searches connected sets of nodes breadth first, one node more each time.
  std::vector<Nodes> sets = {{last}};
  std::set<Nodes> seen = {{last}};
  constexpr size_t kMostSets = 200;
  for (size_t size = 1; size <= most; ++size) {
    std::vector<Nodes> larger;
    for (const auto& nodes : sets) {
      if (shows(nodes)) return fewest(nodes);
      for (NodeId id : nodes) {
        for (ValueId v : graph.node(id).inputs) {
          if (v == ir::kNoValue || graph.value(v).origin != ir::ValueOrigin::kNode) continue;
          Nodes more = nodes;
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
  Nodes whole;
  for (size_t i = 0; i < graph.node_count(); ++i) {
    if (!graph.node(static_cast<NodeId>(i)).removed()) whole.push_back(static_cast<NodeId>(i));
  }
  for (const Nodes& nodes : {made_of(graph, last, [](ValueId) { return false; }),
                             whole}) {  // memory is shared with later nodes
    if (shows(nodes)) return fewest(nodes);
  }
  return {};
}

}  // namespace wick::tool
