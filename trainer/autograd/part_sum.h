// Sums of the gradients of parts of a tensor. The gradient of a slice is that of its part with
// zeros around it, and a tensor that is split, chunked or indexed in a loop has a sum of many of
// these. Once the first one is there, the others are added to their part of the sum alone, which
// has the same bits: all that the zeros around a part could change is a -0, which x + 0 makes +0.
#pragma once

#include <unordered_map>

#include "trainer/autograd/node.h"

namespace wick {

class PartSums {
 public:
  // Adds `g`, the gradient of the part that `slice` reads, to `sum` in place. Returns false where
  // the gradient has to be added with its zeros: the caller then does so, and calls added().
  bool add(Tensor* sum, const OpNode& slice, const Tensor& g);
  // Notes that `sum` gets the gradient of `slice` with the zeros around it.
  void added(const Tensor* sum, const OpNode& slice) { first_.try_emplace(sum, &slice); }

 private:
  // The slice whose part of a sum may hold a -0, while all else of it holds none; null: nothing of
  // the sum does. No later addition makes one: only -0 + -0 is -0.
  std::unordered_map<const Tensor*, const OpNode*> first_;
};

}  // namespace wick
