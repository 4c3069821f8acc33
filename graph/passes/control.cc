// Simplifies control nodes: constants move into the regions, captures that no region reads are
// removed, and an If whose condition is known is replaced by its branch.
#include <algorithm>
#include <map>

#include "graph/rewrite/pass.h"
#include "graph/rewrite/substitution.h"
#include "runtime/registry/registry.h"

namespace wick::ir {
namespace {

std::vector<bool> values_read(const Graph& region) {
  std::vector<bool> read(region.value_count(), false);
  for (const Node& n : region.nodes()) {
    for (ValueId v : n.inputs) {
      if (v != kNoValue) read[static_cast<size_t>(v)] = true;
    }
  }
  for (const GraphOutput& o : region.outputs()) read[static_cast<size_t>(o.value)] = true;
  return read;
}

bool trim_captures(Graph& g, Node& n) {
  const size_t own = own_inputs(n), inside = own_region_inputs(n), count = n.inputs.size();
  std::vector<bool> stays(count, true);
  std::vector<std::vector<bool>> read;
  for (const Graph& region : n.regions) read.push_back(values_read(region));
  for (size_t i = own; i < count; ++i) {
    stays[i] = false;
    if (g.is_constant(n.inputs[i])) continue;
    for (size_t r = 0; r < n.regions.size(); ++r) {
      const ValueId v = n.regions[r].inputs()[inside + i - own];
      stays[i] = stays[i] || read[r][static_cast<size_t>(v)];
    }
  }
  if (std::find(stays.begin(), stays.end(), false) == stays.end()) return false;
  for (size_t r = 0; r < n.regions.size(); ++r) {
    Graph& region = n.regions[r];
    Substitution sub(region);
    std::vector<ValueId> left(region.inputs().begin(),
                              region.inputs().begin() + static_cast<long>(inside));
    for (size_t i = own; i < count; ++i) {
      const ValueId was = region.inputs()[inside + i - own];
      if (stays[i]) {
        left.push_back(was);
      } else if (read[r][static_cast<size_t>(was)]) {
        const Value& c = g.value(n.inputs[i]);
        sub.replace(was, region.add_constant(c.constant, c.name, c.parameter));
      }
    }
    sub.finish();
    region.inputs() = std::move(left);
    region.compact();
  }
  std::vector<ValueId> left;
  for (size_t i = 0; i < count; ++i) {
    if (stays[i]) left.push_back(n.inputs[i]);
  }
  n.inputs = std::move(left);
  return true;
}

// Puts the branch's nodes in place of the If.
void inline_branch(Graph& g, NodeId id, size_t branch, Substitution& sub) {
  const Node n = g.node(id);
  const Graph& region = n.regions[branch];
  std::map<ValueId, ValueId> to;
  to[kNoValue] = kNoValue;
  for (size_t i = 0; i < region.inputs().size(); ++i) to[region.inputs()[i]] = n.inputs[1 + i];
  for (size_t v = 0; v < region.value_count(); ++v) {
    const Value& value = region.value(static_cast<ValueId>(v));
    if (value.origin == ValueOrigin::kConstant)
      to[static_cast<ValueId>(v)] = g.add_constant(value.constant, value.name, value.parameter);
  }
  for (const Node& from : region.nodes()) {
    if (from.removed()) continue;
    std::vector<ValueId> in;
    for (ValueId v : from.inputs) in.push_back(to.at(v));
    std::vector<Graph> regions = from.regions;
    NodeId made =
        regions.empty()
            ? g.add_node(from.op, from.attrs, in, static_cast<int>(from.outputs.size()), from.name)
            : g.add_control(from.op, from.attrs, in, std::move(regions), from.name);
    g.node(made).module = from.module;
    g.node(made).source = from.source;
    for (size_t k = 0; k < from.outputs.size(); ++k) {
      to[from.outputs[k]] = g.node(made).outputs[k];
      g.value(g.node(made).outputs[k]).name = region.value(from.outputs[k]).name;
    }
  }
  for (size_t k = 0; k < n.outputs.size(); ++k)
    sub.replace(n.outputs[k], to.at(region.outputs()[k].value));
  g.remove_node(id);
}

}  // namespace

void trim_regions(Graph& g) {
  for (size_t i = 0; i < g.node_count(); ++i) {
    Node& n = g.node(static_cast<NodeId>(i));
    for (Graph& region : n.regions) trim_regions(region);
    if (!n.removed() && !n.regions.empty()) trim_captures(g, n);
  }
}

bool simplify_control(Graph& g) {
  bool changed = false;
  Substitution sub(g);
  for (size_t i = 0, count = g.node_count(); i < count; ++i) {
    auto id = static_cast<NodeId>(i);
    if (g.node(id).removed() || g.node(id).regions.empty()) continue;
    sub.apply(g.node(id));
    if (trim_captures(g, g.node(id))) {
      g.infer(id);
      changed = true;
    }
    ValueId condition = g.node(id).inputs[0];
    if (g.node(id).op != OpId::kIf || !g.is_constant(condition)) continue;
    if (g.value(condition).constant.numel() != 1) continue;
    inline_branch(g, id, element_as_double(g.value(condition).constant, 0) != 0 ? 0 : 1, sub);
    changed = true;
  }
  if (!changed) return false;
  sub.finish();
  g.compact();
  for (size_t i = 0; i < g.node_count(); ++i) g.infer(static_cast<NodeId>(i));
  return true;
}

}  // namespace wick::ir
