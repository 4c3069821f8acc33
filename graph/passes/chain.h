// What the passes that make a FusedElementwise share: pieces of a graph whose values nobody else
// reads, and the program such a piece is.
#pragma once

#include <vector>

#include "graph/ir/graph.h"
#include "runtime/ops/chain.h"

namespace wick::ir {

class ChainFinder {
 public:
  explicit ChainFinder(Graph& g);

  // Trailing dims that a reduction takes, which keeps them as 1; 0: it is none that a chain may
  // have.
  int reduced_dims(NodeId id) const { return reduced_[static_cast<size_t>(id)]; }
  // Whether a chain may end there.
  bool may_end(NodeId id) const;
  // All that can be one op with `root`: nodes of its shape that it is computed of, where every
  // reader of theirs is in it. row_dims > 0: reductions of so many dims too, and what is computed
  // of their results.
  std::vector<NodeId> grow(NodeId root, int row_dims) const;
  // These nodes will be one op; no other chain gets them.
  void take(std::vector<NodeId> nodes);
  // Puts the ops in place. True when there was any.
  bool finish();

 private:
  struct Found {
    NodeId root;
    ChainAttrs attrs;
    std::vector<ValueId> inputs;
    std::vector<NodeId> nodes;
  };
  bool may_join(const Node& n) const;
  bool fits(NodeId id, ValueId whole, int row_dims) const;
  bool inside(ValueId v, const std::vector<NodeId>& nodes) const;
  // False when the op cannot hold that much.
  bool build(const std::vector<NodeId>& nodes, Found* out) const;

  Graph& g_;
  std::vector<std::vector<NodeId>> users_;
  std::vector<bool> output_, taken_;
  std::vector<int> reduced_;
  std::vector<Found> found_;
};

}  // namespace wick::ir
