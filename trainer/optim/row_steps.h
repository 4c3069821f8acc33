// Updates by sparse gradients: only the rows that have one are read and written. Each number of a
// row is computed as PyTorch does, rounded to the parameter's type after each operation; rows are
// split among threads, which changes no bit.
#pragma once

#include "trainer/autograd/sparse_grad.h"
#include "trainer/tensor/tensor.h"

namespace wick::optim {

// p is contiguous, and g coalesced and of its dtype. state: tensors of p's shape.
// p -= rate g
void sgd_rows(double rate, const Tensor& p, const SparseGrad& g);
// sum += g^2; p -= rate g / (sqrt(sum) + eps); sign: -1 to maximize
void adagrad_rows(double sign, double rate, double eps, const Tensor& p, const SparseGrad& g,
                  const Tensor& sum);
struct SparseAdamCoefficients {
  double sign, beta1, beta2, eps, rate;  // rate: lr sqrt(1 - beta2^t) / (1 - beta1^t)
};
// m += (1 - beta1) (g - m); v += (1 - beta2) (g^2 - v); p -= rate m / (sqrt(v) + eps)
void sparse_adam_rows(const SparseAdamCoefficients& c, const Tensor& p, const SparseGrad& g,
                      const Tensor& m, const Tensor& v);

// Returns the gradient coalesced; throws Error if the parameter is on a device, or is no longer of
// the gradient's shape and dtype.
SparseGrad rows_to_step(const char* op, const Tensor& p);
// Throw Error for an optimizer that takes no sparse gradient, and for one that takes no other.
[[noreturn]] void no_sparse_step(const char* op, const Tensor& p);
[[noreturn]] void no_dense_step(const char* op, const Tensor& p);
// Throws Error for an option that has no meaning for rows: "momentum".
[[noreturn]] void no_option_of_rows(const char* op, const char* option, const Tensor& p);

}  // namespace wick::optim
