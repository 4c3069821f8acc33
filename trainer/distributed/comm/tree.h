// The fixed binary tree by which values of K virtual shards are summed. Its shape depends on K
// alone: a rank computes the nodes below the shards that it owns, and the ranks together the nodes
// above, so that 1, 2, 3 or 8 ranks make the same sums in the same order.
#pragma once

#include <cstdint>
#include <vector>

#include "runtime/core/dtype.h"
#include "trainer/distributed/comm/reduce_op.h"

namespace wick::distributed {

// The shards [begin, end).
struct Shards {
  int begin = 0, end = 0;
  int size() const { return end - begin; }
  bool operator==(const Shards&) const = default;
};

// Returns the first shard of the right child of a node of two shards or more: the left child has
// the largest power of two of shards that is less than all of them.
int right_child(Shards node);
// Returns the shards that `rank` of `ranks` owns.
Shards shards_of(int rank, int ranks, int shards);
// Returns the largest nodes of the tree over `shards` whose leaves are all in `own`, in order. A
// rank sends one sum for each.
std::vector<Shards> pieces_of(Shards own, int shards);
// Returns the largest number of values that a sum of leaves one after the other keeps at a time.
int tree_depth(int shards);

// out[i] = a[i] op b[i] for n elements; out may be a or b. Integers wrap; of bools the sum is `or`
// and the product `and`; float16 and bfloat16 are combined in float32 and rounded once; complex
// numbers can be added only. NaN wins, and +0 is above -0. Returns false for a dtype that cannot be
// combined, with nothing written.
bool combine(ReduceOp op, DType dtype, const void* a, const void* b, void* out, int64_t n);
// data[i] /= divisor for floats and complex numbers; returns false for other dtypes.
bool divide(DType dtype, void* data, int64_t n, int divisor);
// Returns whether combine() (and for kMean divide()) takes the dtype.
bool can_combine(ReduceOp op, DType dtype);
// Round float32 to bfloat16, to nearest and half to even, and widen it.
void to_bf16(const float* in, uint16_t* out, int64_t n);
void from_bf16(const uint16_t* in, float* out, int64_t n);

// The combinations that are left where the sums of some nodes are known: those of `pieces`, which
// cover all shards in order.
class TreeSum {
 public:
  TreeSum(int shards, const std::vector<Shards>& pieces);
  // Writes the root's value of n elements. inputs[i] belongs to pieces[i]; `out` may be one of
  // them.
  void run(const std::vector<const void*>& inputs, void* out, int64_t n, DType dtype,
           ReduceOp op) const;

 private:
  void plan(Shards node, const std::vector<Shards>& pieces, size_t* at);
  std::vector<int>
      steps_;  // in postorder: the index of a piece, or -1: combine the last two values
};

// Sums the leaves of a rank's shards as they come, in order: keeps a value for each node that is
// complete and whose sibling is not, as the digits of a binary counter.
template <class Value>
class Forest {
 public:
  Forest() = default;
  Forest(Shards own, int shards) : own_(own), shards_(shards), next_(own.begin) {}
  // Takes the value of the next shard. merge(&left, right) adds the right one to the left one.
  template <class Merge>
  void push(Value leaf, const Merge& merge) {
    nodes_.push_back({{next_, next_ + 1}, std::move(leaf)});
    ++next_;
    while (nodes_.size() > 1 && siblings()) {
      merge(&nodes_[nodes_.size() - 2].value, std::move(nodes_.back().value));
      nodes_[nodes_.size() - 2].shards.end = nodes_.back().shards.end;
      nodes_.pop_back();
    }
  }
  int next() const { return next_; }  // the shard of the next leaf
  bool complete() const { return next_ == own_.end; }
  // The values of pieces_of(own, shards), once it is complete.
  template <class F>
  void each(const F& f) {
    for (Node& node : nodes_) f(node.value);
  }
  void clear() {
    nodes_.clear();
    next_ = own_.begin;
  }

 private:
  struct Node {
    Shards shards;
    Value value;
  };
  bool siblings() const {
    const Shards both{nodes_[nodes_.size() - 2].shards.begin, nodes_.back().shards.end};
    const int middle = nodes_.back().shards.begin;
    for (Shards at{0, shards_}; at.size() > 1;) {
      const int right = right_child(at);
      if (at == both) return right == middle;
      at = both.begin >= right ? Shards{right, at.end} : Shards{at.begin, right};
    }
    return false;
  }

  Shards own_;
  int shards_ = 1, next_ = 0;
  std::vector<Node> nodes_;
};

}  // namespace wick::distributed
