// Transposes and reshapes that undo each other, and transposes of matrix weights that Linear takes
// as they are.
#include "graph/rewrite/pass.h"

namespace wick::ir {
namespace {

const Node* producer(const Graph& g, ValueId v, OpId op) {
  if (v == kNoValue || g.value(v).origin != ValueOrigin::kNode) return nullptr;
  const Node& n = g.node(g.value(v).producer);
  return n.op == op ? &n : nullptr;
}

DimList full_perm(const Graph& g, const Node& n) {
  const auto& perm = n.attrs.as<TransposeAttrs>().perm;
  if (!perm.empty()) return perm;
  DimList reversed;
  for (int i = g.value(n.inputs[0]).shape.rank() - 1; i >= 0; --i)
    reversed.values[reversed.count++] = i;
  return reversed;
}
bool is_identity(const DimList& perm) {
  for (int64_t i = 0; i < perm.count; ++i) {
    if (perm[i] != i) return false;
  }
  return true;
}
bool same_shape(const Graph& g, ValueId a, ValueId b) {
  const Value &x = g.value(a), &y = g.value(b);
  if (!x.ranked || !y.ranked || x.declared || y.declared || x.shape.rank() != y.shape.rank())
    return false;
  for (int i = 0; i < x.shape.rank(); ++i) {
    if (dim_equal(x.shape[i], y.shape[i]) != Tri::kYes) return false;
  }
  return true;
}
bool moves_nothing(OpId op) {
  return op == OpId::kReshape || op == OpId::kFlatten || op == OpId::kSqueeze ||
         op == OpId::kUnsqueeze;
}
// The result of `n` may be read as `to` instead.
bool replaceable(const Graph& g, const Node& n, ValueId to) {
  return !g.is_output(n.outputs[0]) ||
         (g.value(to).origin == ValueOrigin::kNode && !g.is_output(to));
}

}  // namespace

bool cancel_layout(Graph& g) {
  bool changed = false;
  for (size_t i = 0; i < g.node_count(); ++i) {
    auto id = static_cast<NodeId>(i);
    if (g.node(id).removed()) continue;
    Node& n = g.node(id);
    ValueId to = kNoValue;
    if (n.op == OpId::kTranspose && g.value(n.inputs[0]).ranked) {
      DimList perm = full_perm(g, n);
      const Node* inner = producer(g, n.inputs[0], OpId::kTranspose);
      if (inner != nullptr && g.value(inner->inputs[0]).ranked) {
        DimList first = full_perm(g, *inner), both;
        for (int64_t k = 0; k < perm.count; ++k) both.values[both.count++] = first[perm[k]];
        n.attrs.as<TransposeAttrs>().perm = both;
        n.inputs[0] = inner->inputs[0];
        perm = both;
        changed = true;
      }
      if (is_identity(perm)) to = n.inputs[0];
    } else if (moves_nothing(n.op) && same_shape(g, n.inputs[0], n.outputs[0])) {
      to = n.inputs[0];
    } else if (n.op == OpId::kReshape && n.inputs.size() == 1) {
      // reshape of a reshape is the last one, unless it copies a dimension (0) from what it reads
      Value& from = g.value(n.inputs[0]);
      bool copies = false;
      for (int64_t d : n.attrs.as<ReshapeAttrs>().shape.span()) copies = copies || d == 0;
      if (!copies && from.origin == ValueOrigin::kNode && moves_nothing(g.node(from.producer).op)) {
        n.inputs[0] = g.node(from.producer).inputs[0];
        changed = true;
      }
    }
    if (to != kNoValue && replaceable(g, n, to)) {
      g.replace_all(n.outputs[0], to);
      g.remove_node(id);
      changed = true;
    }
  }
  return changed;
}

}  // namespace wick::ir
