// Shared by the passes: makes readers read another value, in one walk over the graph however many
// values are replaced.
#pragma once

#include <vector>

#include "graph/ir/graph.h"

namespace wick::ir {

// For a pass that visits the nodes in order: it calls apply() on each before looking at it,
// replace() for the values it makes, and finish() at the end. A value may only be replaced by one
// that is made before it.
class Substitution {
 public:
  explicit Substitution(Graph& g) : g_(g), output_(g.value_count(), false) {
    for (const GraphOutput& o : g.outputs()) output_[static_cast<size_t>(o.value)] = true;
  }
  Substitution(const Substitution&) = delete;
  Substitution& operator=(const Substitution&) = delete;

  bool changed() const { return changed_; }
  // Returns whether `v` is an output of the graph, replacements included.
  bool is_output(ValueId v) const {
    return static_cast<size_t>(v) < output_.size() && output_[static_cast<size_t>(v)];
  }
  // Returns whether readers may read `to` instead of `from`. An output of the graph must be made by
  // a node of its own: it may not become an input, a constant or another output.
  bool may_replace(ValueId from, ValueId to) const {
    return !is_output(from) || (g_.value(to).origin == ValueOrigin::kNode && !is_output(to));
  }
  void replace(ValueId from, ValueId to) {
    if (static_cast<size_t>(from) >= to_.size()) to_.resize(g_.value_count(), kNoValue);
    to_[static_cast<size_t>(from)] = to;
    if (static_cast<size_t>(to) >= output_.size()) output_.resize(g_.value_count(), false);
    if (is_output(from)) output_[static_cast<size_t>(to)] = true;
    changed_ = true;
  }
  // Replaces the node's first result by `to` and removes the node.
  void drop(NodeId id, ValueId to) {
    replace(g_.node(id).outputs[0], to);
    g_.remove_node(id);
  }
  void apply(Node& n) const {
    for (ValueId& v : n.inputs) v = find(v);
  }
  // Applies the replacements to nodes that were visited before one, and to the graph's outputs.
  // Returns whether anything was replaced.
  bool finish() {
    if (!changed_) return false;
    for (size_t i = 0; i < g_.node_count(); ++i) apply(g_.node(static_cast<NodeId>(i)));
    for (GraphOutput& o : g_.outputs()) o.value = find(o.value);
    return true;
  }

 private:
  ValueId find(ValueId v) const {
    while (v != kNoValue && static_cast<size_t>(v) < to_.size() &&
           to_[static_cast<size_t>(v)] != kNoValue) {
      v = to_[static_cast<size_t>(v)];
    }
    return v;
  }

  Graph& g_;
  std::vector<ValueId> to_;  // kNoValue: not replaced
  std::vector<bool> output_;
  bool changed_ = false;
};

// Returns whether both are known to have the same shape whatever the symbols are.
inline bool same_shape(const Graph& g, ValueId a, ValueId b) {
  const Value &x = g.value(a), &y = g.value(b);
  if (!x.ranked || !y.ranked || x.declared || y.declared || x.shape.rank() != y.shape.rank())
    return false;
  for (int i = 0; i < x.shape.rank(); ++i) {
    if (dim_equal(x.shape[i], y.shape[i]) != Tri::kYes) return false;
  }
  return true;
}

// Returns the node that makes a value, or null.
inline const Node* producer_of(const Graph& g, ValueId v) {
  if (v == kNoValue || g.value(v).origin != ValueOrigin::kNode) return nullptr;
  return &g.node(g.value(v).producer);
}

// Returns the permutation of a Transpose of that rank, also if it has none as an attribute.
inline DimList full_perm(const Node& transpose, int rank) {
  const DimList& perm = transpose.attrs.as<TransposeAttrs>().perm;
  if (!perm.empty()) return perm;
  DimList reversed;
  for (int i = rank - 1; i >= 0; --i) reversed.values[reversed.count++] = i;
  return reversed;
}
inline DimList full_perm(const Graph& g, const Node& transpose) {
  return full_perm(transpose, g.value(transpose.inputs[0]).shape.rank());
}
inline bool is_identity(const DimList& perm) {
  for (int64_t i = 0; i < perm.count; ++i) {
    if (perm[i] != i) return false;
  }
  return true;
}

inline ValueId input_or_none(const Node& n, size_t i) {
  return i < n.inputs.size() ? n.inputs[i] : kNoValue;
}

// Infers the types of the nodes that read a marked value again; values whose type changes are
// marked too. The nodes must be in topological order.
void infer_behind(Graph& g, std::vector<bool> marked);

}  // namespace wick::ir
