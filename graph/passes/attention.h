// Shared by the two halves of fuse_attention.
#pragma once

#include "graph/rewrite/substitution.h"

namespace wick::ir {

// Readers tracks who reads a value while nodes are replaced.
class Readers {
 public:
  explicit Readers(Graph& g) : g_(g), users_(g.users()), output_(g.value_count(), false) {
    for (const GraphOutput& o : g.outputs()) output_[static_cast<size_t>(o.value)] = true;
  }
  // Returns the only reader of a value that nothing else sees, if it reads it once; -1: there is
  // none.
  NodeId only(ValueId v) const {
    if (output_[static_cast<size_t>(v)]) return -1;
    NodeId one = -1;
    for (NodeId user : users_[static_cast<size_t>(v)]) {
      if (g_.node(user).removed()) continue;
      if (one >= 0) return -1;
      one = user;
    }
    return one;
  }
  // Makes whoever read `from` read `to`.
  void pass_on(ValueId from, ValueId to);
  // Makes node `id` read `to` as input `i`.
  void redirect(NodeId id, size_t i, ValueId to);
  // Records that node `id` reads the value, or reads it once more.
  void reads(NodeId id, ValueId v) { users_[static_cast<size_t>(v)].push_back(id); }

 private:
  Graph& g_;
  std::vector<std::vector<NodeId>> users_;  // removed nodes may still be listed
  std::vector<bool> output_;
};

// Returns whether x > 0 divides y, both being known.
inline bool divides(const SymDim& x, const SymDim& y) {
  return x.known() && y.known() && x.constant() > 0 && y.constant() % x.constant() == 0;
}
inline DimList no_perm(int rank) {
  DimList perm;
  for (int i = 0; i < rank; ++i) perm.values[perm.count++] = i;
  return perm;
}

// Absorbs transposes around a FusedAttention, keys and values repeated for heads that share them,
// and queries and keys multiplied by a number.
bool absorb_into_attention(Graph& g);

}  // namespace wick::ir
