// GradFn, the result of Tensor::grad_fn(): a handle on the function that made a tensor.
#pragma once

#include <string>
#include <vector>

#include "trainer/tensor/tensor.h"

namespace wick {

class Node;

// A handle to the node that made a tensor: torch.Tensor.grad_fn. It is empty for a leaf.
class GradFn {
 public:
  GradFn() = default;
  explicit GradFn(IntrusivePtr<Node> node);
  // The end of the graph: accumulates into the leaf's .grad.
  explicit GradFn(IntrusivePtr<TensorImpl> leaf);
  ~GradFn();
  GradFn(const GradFn&);
  GradFn& operator=(const GradFn&);

  explicit operator bool() const { return node_ || leaf_; }
  friend bool operator==(const GradFn& a, const GradFn& b) {
    return a.node_ == b.node_ && a.leaf_ == b.leaf_;
  }
  std::string name() const;  // "MulBackward0", "AccumulateGrad"
  // Returns, for each input of the forward call, its function and which of that function's outputs
  // it is; empty if the input needs no gradient.
  std::vector<std::pair<GradFn, uint32_t>> next_functions() const;
  Where where() const;              // the forward call's line; a leaf has none
  std::string module_path() const;  // the module the call was made in, "" outside of modules
  Tensor variable() const;          // AccumulateGrad's leaf, else undefined
  uint64_t sequence_nr() const;     // ascends with creation
  Node* node() const { return node_.get(); }

 private:
  IntrusivePtr<Node> node_;
  IntrusivePtr<TensorImpl> leaf_;
};

}  // namespace wick
