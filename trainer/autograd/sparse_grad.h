// Gradients of tables of which few rows were used: nn::Embedding with the option `sparse`. They are
// kept as rows and values beside the leaf, not in .grad: a step then takes time for the rows that
// were used, not for the table. SparseAdam, SGD and Adagrad take them.
#pragma once

#include <optional>

#include "trainer/tensor/tensor.h"

namespace wick {

// The gradient of a table [n, d...]: values [k, d...] of the rows indices [k] (int64); the gradient
// of every other row is 0. A row may occur several times: its values count together.
class SparseGrad {
 public:
  // Throws Error if the shapes do not fit, or an index is not in [0, n).
  SparseGrad(const Shape& table, const Tensor& indices, const Tensor& values,
             bool coalesced = false, Where where = Where::current());
  // The shape of the table, and of what is kept of it.
  const Shape& shape() const { return shape_; }
  const Tensor& indices() const { return indices_; }
  const Tensor& values() const { return values_; }
  DType dtype() const { return values_.dtype(); }
  // Returns whether each row occurs once, in ascending order.
  bool is_coalesced() const { return coalesced_; }
  // Returns the same gradient coalesced: the values of a row are summed in the order in which they
  // were added, so that the bits do not depend on threads.
  SparseGrad coalesce() const;
  // Returns the gradient as a tensor of the table's shape, with the bits of coalesce().
  Tensor to_dense() const;
  // Returns this followed by the rows of `more`, which is of the same table.
  SparseGrad plus(const SparseGrad& more) const;

 private:
  Shape shape_;
  Tensor indices_, values_;
  bool coalesced_;
};

// Returns whether a backward has left a sparse gradient. Tensor::grad() is an Error then, so that
// nothing takes the table for one without a gradient; set_grad() and zero_grad() clear it.
bool has_sparse_grad(const Tensor& t);
// Returns that gradient, or nothing. A dense gradient of the same leaf takes the rows into it.
std::optional<SparseGrad> sparse_grad(const Tensor& t);

}  // namespace wick
