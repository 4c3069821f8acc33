// Where a leaf keeps its sparse gradient; internal.
#pragma once

#include <memory>
#include <string>
#include <vector>

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

// A leaf's gradient of either kind, which is taken away and put back with its marks.
struct AnyGrad {
  Tensor dense;                      // .grad; undefined where there is none
  std::shared_ptr<SparseSlot> rows;  // null: the gradient is not sparse

  // Returns it in another dtype.
  AnyGrad to(DType dtype) const;
};
AnyGrad any_grad(const Tensor& t);
void set_any_grad(const Tensor& t, const AnyGrad& g);
// Returns the tensors that hold the gradient: .grad, which may be undefined, or indices and values.
std::vector<Tensor> gradient_tensors(const Tensor& t);

// Makes a sparse gradient 0: it stays sparse, without rows.
void set_no_rows(const Tensor& table);
// .grad, or the dense form of a sparse gradient; undefined where there is neither.
Tensor grad_or_dense(const Tensor& t);
// Throws Error for a sparse gradient, in the words of `op`, which takes none.
void need_dense_grad(const char* op, const Tensor& t, const Where& where);
// "the gradient of 'weight'", or "a gradient".
std::string gradient_of_text(const TensorImpl* t);

}  // namespace wick
