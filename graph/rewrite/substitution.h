// What passes share: readers told to read another value, in one walk over the graph however many
// values are replaced.
#pragma once

#include <vector>

#include "graph/ir/graph.h"

namespace wick::ir {

// For a pass that visits the nodes in order: apply() each before looking at it, replace() what it
// makes, and at the end finish(). A value may only be replaced by one that is made before it.
class Substitution {
 public:
  explicit Substitution(Graph& g) : g_(g), output_(g.value_count(), false) {
    for (const GraphOutput& o : g.outputs()) output_[static_cast<size_t>(o.value)] = true;
  }
  Substitution(const Substitution&) = delete;
  Substitution& operator=(const Substitution&) = delete;

  bool changed() const { return changed_; }
  // Of the graph, replacements counted.
  bool is_output(ValueId v) const {
    return static_cast<size_t>(v) < output_.size() && output_[static_cast<size_t>(v)];
  }
  // The result of a node may be read as `to` instead: an output of the graph that is an input, a
  // constant or another output needs a node that makes it.
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
  // The node's first result is read as `to`; the node goes.
  void drop(NodeId id, ValueId to) {
    replace(g_.node(id).outputs[0], to);
    g_.remove_node(id);
  }
  void apply(Node& n) const {
    for (ValueId& v : n.inputs) v = find(v);
  }
  // Nodes visited before a replacement, and the graph's outputs. True when anything was replaced.
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
  std::vector<ValueId> to_;  // kNoValue: itself
  std::vector<bool> output_;
  bool changed_ = false;
};

// Known to have the same shape whatever the symbols are.
inline bool same_shape(const Graph& g, ValueId a, ValueId b) {
  const Value &x = g.value(a), &y = g.value(b);
  if (!x.ranked || !y.ranked || x.declared || y.declared || x.shape.rank() != y.shape.rank())
    return false;
  for (int i = 0; i < x.shape.rank(); ++i) {
    if (dim_equal(x.shape[i], y.shape[i]) != Tri::kYes) return false;
  }
  return true;
}

// The node that makes a value, or null.
inline const Node* producer_of(const Graph& g, ValueId v) {
  if (v == kNoValue || g.value(v).origin != ValueOrigin::kNode) return nullptr;
  return &g.node(g.value(v).producer);
}

// The permutation of a Transpose of that rank, also where it names none.
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

// Types of what reads a marked value, inferred anew; what changes by that is marked too. Nodes must
// stand in order.
void infer_behind(Graph& g, std::vector<bool> marked);

}  // namespace wick::ir
