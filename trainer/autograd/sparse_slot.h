// Where a leaf keeps its sparse gradient; internal.
#pragma once

#include <string>

#include "trainer/autograd/sparse_grad.h"
#include "trainer/tensor/tensor_impl.h"

namespace wick {

// The gradient, and the mark that Storage::Applied is for dense ones.
struct SparseSlot {
  SparseGrad grad;
  int64_t applied_step = 0;  // 0: never applied
  bool added_to = false;     // a backward added rows after that
};

// Null where there is none.
SparseSlot* sparse_slot(const TensorImpl* t);
void set_sparse_slot(TensorImpl* t, std::optional<SparseGrad> g);  // nothing clears it

// A gradient of 0: without rows.
SparseGrad no_rows(const Tensor& table);
// .grad, or the dense form of a sparse gradient; undefined where there is neither.
Tensor grad_or_dense(const Tensor& t);
// Throws Error for a sparse gradient, in the words of `op`, which takes none.
void need_dense_grad(const char* op, const Tensor& t, const Where& where);
// "the gradient of 'weight'", or "a gradient".
std::string gradient_of_text(const TensorImpl* t);

}  // namespace wick
