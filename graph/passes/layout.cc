// Cancels transposes and reshapes that undo each other, and transposes of matrix weights that
// Linear takes as they are.
#include <algorithm>

#include "graph/rewrite/pass.h"
#include "graph/rewrite/substitution.h"

namespace wick::ir {
namespace {

const Node* producer(const Graph& g, ValueId v, OpId op) {
  const Node* n = producer_of(g, v);
  return n != nullptr && n->op == op ? n : nullptr;
}

bool moves_nothing(OpId op) {
  return op == OpId::kReshape || op == OpId::kFlatten || op == OpId::kSqueeze ||
         op == OpId::kUnsqueeze;
}
// Returns whether a reshape copies a dimension of its input (0), so that it must not read another
// tensor instead.
bool copies_a_dim(const Graph& g, const Node& n) {
  const auto& a = n.attrs.as<ReshapeAttrs>();
  if (a.allowzero != 0) return false;
  if (n.inputs.size() == 1) {
    const Span<const int64_t> shape = a.shape.span();
    return std::any_of(shape.begin(), shape.end(), [](int64_t d) { return d == 0; });
  }
  const Value& shape = g.value(n.inputs[1]);
  return !shape.has_elements ||
         std::any_of(shape.elements.begin(), shape.elements.end(),
                     [](const SymDim& d) { return d.min() <= 0 && d.max() >= 0; });
}

// Merges a transpose of a transpose into one; true if the node changed.
bool merge_transposes(Graph& g, Node& n) {
  const Node* inner = producer(g, n.inputs[0], OpId::kTranspose);
  if (inner == nullptr || !g.value(inner->inputs[0]).ranked || !g.value(n.inputs[0]).ranked)
    return false;
  const DimList perm = full_perm(g, n), first = full_perm(g, *inner);
  DimList both;
  for (int64_t k = 0; k < perm.count; ++k) both.values[both.count++] = first[perm[k]];
  n.attrs.as<TransposeAttrs>().perm = both;
  n.inputs[0] = inner->inputs[0];
  return true;
}

// Returns the value that is already the node's result, by way of another shape or none; kNoValue:
// there is none.
ValueId same_tensor(const Graph& g, const Node& n) {
  const ValueId x = n.inputs[0], y = n.outputs[0];
  if (n.op == OpId::kTranspose)
    return g.value(x).ranked && is_identity(full_perm(g, n)) ? x : kNoValue;
  if (!moves_nothing(n.op)) return kNoValue;
  if (same_shape(g, x, y)) return x;
  const Node* inner = producer_of(g, x);
  if (inner == nullptr || !moves_nothing(inner->op)) return kNoValue;
  return same_shape(g, inner->inputs[0], y) ? inner->inputs[0] : kNoValue;
}

}  // namespace

bool cancel_layout(Graph& g) {
  Substitution sub(g);
  bool changed = false;
  for (size_t i = 0; i < g.node_count(); ++i) {
    const auto id = static_cast<NodeId>(i);
    Node& n = g.node(id);
    if (n.removed()) continue;
    sub.apply(n);
    if (n.op == OpId::kTranspose) changed = merge_transposes(g, n) || changed;
    const ValueId to = n.inputs.empty() ? kNoValue : same_tensor(g, n);
    if (to != kNoValue && sub.may_replace(n.outputs[0], to)) {
      sub.drop(id, to);
    } else if (n.op == OpId::kReshape && !copies_a_dim(g, n)) {
      // A reshape of a reshape is the last one.
      for (int depth = 0; depth < kMaxRank; ++depth) {
        const Node* inner = producer_of(g, n.inputs[0]);
        if (inner == nullptr || !moves_nothing(inner->op)) break;
        n.inputs[0] = inner->inputs[0];
        changed = true;
      }
    }
  }
  return sub.finish() || changed;
}

}  // namespace wick::ir
