// Dead code elimination.
#include "graph/rewrite/pass.h"

namespace wick::ir {

bool remove_dead(Graph& g) {
  std::vector<int> readers(g.value_count(), 0);
  for (const GraphOutput& o : g.outputs()) ++readers[static_cast<size_t>(o.value)];
  for (const Node& n : g.nodes()) {
    for (ValueId v : n.inputs) {
      if (v != kNoValue) ++readers[static_cast<size_t>(v)];
    }
  }
  bool changed = false, holes = false;
  for (size_t i = g.node_count(); i-- > 0;) {
    Node& n = g.node(static_cast<NodeId>(i));
    holes = holes || n.removed();
    if (n.removed()) continue;
    bool read = false;
    for (ValueId v : n.outputs) read = read || readers[static_cast<size_t>(v)] > 0;
    if (read) continue;
    for (ValueId v : n.inputs) {
      if (v != kNoValue) --readers[static_cast<size_t>(v)];
    }
    g.remove_node(static_cast<NodeId>(i));
    changed = true;
  }
  for (size_t v = 0; v < g.value_count(); ++v)
    holes = holes || (readers[v] == 0 && g.is_constant(static_cast<ValueId>(v)));
  if (changed || holes) g.compact();
  return changed;
}

}  // namespace wick::ir
