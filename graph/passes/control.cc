// Control nodes made smaller: constants move in, captures that no region reads go, and an If whose
// condition is known is replaced by its branch.
#include <map>

#include "graph/rewrite/pass.h"
#include "runtime/registry/registry.h"

namespace wick::ir {
namespace {

void drop_input(Graph& region, size_t i, ValueId becomes) {
  ValueId was = region.inputs()[i];
  if (becomes != kNoValue) region.replace_all(was, becomes);
  region.inputs().erase(region.inputs().begin() + static_cast<long>(i));
}

bool reads(const Graph& region, ValueId v) {
  if (region.is_output(v)) return true;
  for (const Node& n : region.nodes()) {
    for (ValueId in : n.inputs) {
      if (in == v) return true;
    }
  }
  return false;
}

bool trim_captures(Graph& g, Node& n) {
  bool changed = false;
  size_t own = own_inputs(n), inside = own_region_inputs(n);
  for (size_t i = n.inputs.size(); i-- > own;) {
    bool constant = g.is_constant(n.inputs[i]), read = false;
    for (Graph& region : n.regions) read = read || reads(region, region.inputs()[inside + i - own]);
    if (read && !constant) continue;
    for (Graph& region : n.regions) {
      ValueId inner = kNoValue;
      if (constant && reads(region, region.inputs()[inside + i - own])) {
        const Value& c = g.value(n.inputs[i]);
        inner = region.add_constant(c.constant, c.name, c.parameter);
      }
      drop_input(region, inside + i - own, inner);
    }
    n.inputs.erase(n.inputs.begin() + static_cast<long>(i));
    changed = true;
  }
  if (!changed) return false;
  for (Graph& region : n.regions) region.compact();
  return true;
}

// The branch's nodes in place of the If.
void inline_branch(Graph& g, NodeId id, size_t branch) {
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
    g.replace_all(n.outputs[k], to.at(region.outputs()[k].value));
  g.remove_node(id);
}

}  // namespace

bool simplify_control(Graph& g) {
  bool changed = false;
  for (size_t i = 0, count = g.node_count(); i < count; ++i) {
    auto id = static_cast<NodeId>(i);
    if (g.node(id).removed() || g.node(id).regions.empty()) continue;
    if (trim_captures(g, g.node(id))) {
      g.infer(id);
      changed = true;
    }
    ValueId condition = g.node(id).inputs[0];
    if (g.node(id).op != OpId::kIf || !g.is_constant(condition)) continue;
    if (g.value(condition).constant.numel() != 1) continue;
    inline_branch(g, id, element_as_double(g.value(condition).constant, 0) != 0 ? 0 : 1);
    changed = true;
  }
  if (!changed) return false;
  g.compact();
  for (size_t i = 0; i < g.node_count(); ++i) g.infer(static_cast<NodeId>(i));
  return true;
}

}  // namespace wick::ir
