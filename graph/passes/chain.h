// Shared by the passes that make a FusedElementwise: finding pieces of a graph whose values nothing
// else reads, and turning such a piece into a program.
#pragma once

#include <vector>

#include "graph/ir/graph.h"
#include "runtime/ops/chain.h"

namespace wick::ir {

class ChainFinder {
 public:
  explicit ChainFinder(Graph& g);

  // Returns the number of trailing dims that a reduction reduces to 1; 0: it is not one that a
  // chain may have.
  int reduced_dims(NodeId id) const { return reduced_[static_cast<size_t>(id)]; }
  // Returns whether a chain may end there.
  bool may_end(NodeId id) const;
  // Returns all nodes that can be one op with `root`: nodes of its shape that it is computed from,
  // whose readers are all among them. row_dims > 0: also reductions of so many dims and what is
  // computed from their results.
  std::vector<NodeId> grow(NodeId root, int row_dims) const;
  // Marks the nodes as one op; no other chain gets them.
  void take(std::vector<NodeId> nodes);
  // Inserts the ops. Returns whether there was any.
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
  // Returns false if the op cannot hold that much.
  bool build(const std::vector<NodeId>& nodes, Found* out) const;

  Graph& g_;
  std::vector<std::vector<NodeId>> users_;
  std::vector<bool> output_, taken_;
  std::vector<int> reduced_;
  std::vector<Found> found_;
};

}  // namespace wick::ir
