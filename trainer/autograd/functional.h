// Derivatives of functions of tensors, as in torch.autograd.functional. A function maps a list of
// tensors to a list of tensors. Inputs are floating point, and their history is followed only with
// create_graph. With strict, an output that does not depend on an input is an error; otherwise its
// derivative is zero.
#pragma once

#include <functional>
#include <utility>
#include <vector>

#include "trainer/autograd/forward.h"
#include "trainer/tensor/tensor.h"

namespace wick {

// A function of tensors whose derivatives are taken.
using TensorFunction = std::function<std::vector<Tensor>(const std::vector<Tensor>&)>;

// Options of the functions below.
struct FunctionalOptions {
  bool create_graph = false;  // the results are differentiable
  bool strict = false;        // an input or output without a derivative is an Error
};

// The outputs of f, and a product with its Jacobian.
using OutputsAnd = std::pair<std::vector<Tensor>, std::vector<Tensor>>;
// Returns (f(x), v^T J), one tensor per input. v has one tensor per output; it is empty where f
// returns one scalar.
OutputsAnd vjp(const TensorFunction& f, const std::vector<Tensor>& inputs,
               const std::vector<Tensor>& v = {}, const FunctionalOptions& options = {},
               Where where = Where::current());
// Returns (f(x), J v), one tensor per output, computed in forward mode. v has one tensor per input.
OutputsAnd jvp(const TensorFunction& f, const std::vector<Tensor>& inputs,
               const std::vector<Tensor>& v, const FunctionalOptions& options = {},
               Where where = Where::current());
// Returns J as [output][input], each of shape output.shape + input.shape.
std::vector<std::vector<Tensor>> jacobian(const TensorFunction& f,
                                          const std::vector<Tensor>& inputs,
                                          const FunctionalOptions& options = {},
                                          Where where = Where::current());
// Returns H of a function with one scalar output as [input][input], each of shape input.shape +
// input.shape.
std::vector<std::vector<Tensor>> hessian(const TensorFunction& f, const std::vector<Tensor>& inputs,
                                         const FunctionalOptions& options = {},
                                         Where where = Where::current());
// hvp returns (f(x), H v), forward over reverse; vhp returns (f(x), v^T H), reverse over reverse.
OutputsAnd hvp(const TensorFunction& f, const std::vector<Tensor>& inputs,
               const std::vector<Tensor>& v, const FunctionalOptions& options = {},
               Where where = Where::current());
OutputsAnd vhp(const TensorFunction& f, const std::vector<Tensor>& inputs,
               const std::vector<Tensor>& v, const FunctionalOptions& options = {},
               Where where = Where::current());

}  // namespace wick
