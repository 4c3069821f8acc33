// Derivatives of functions of tensors, as torch.autograd.functional has them. A function takes a
// list of tensors and gives a list; inputs are floating point and their history is not followed
// unless create_graph is set. strict: an output that does not depend on an input is an error, else
// its derivative is zero.
#pragma once

#include <functional>
#include <utility>
#include <vector>

#include "trainer/autograd/forward.h"
#include "trainer/tensor/tensor.h"

namespace wick {

using TensorFunction = std::function<std::vector<Tensor>(const std::vector<Tensor>&)>;

struct FunctionalOptions {
  bool create_graph = false;  // the results are differentiable
  bool strict = false;
};

using OutputsAnd = std::pair<std::vector<Tensor>, std::vector<Tensor>>;
// (f(x), v^T J): one an input. v: one an output; empty where f gives one scalar.
OutputsAnd vjp(const TensorFunction& f, const std::vector<Tensor>& inputs,
               const std::vector<Tensor>& v = {}, const FunctionalOptions& options = {},
               Where where = Where::current());
// (f(x), J v): one an output, in forward mode. v: one an input.
OutputsAnd jvp(const TensorFunction& f, const std::vector<Tensor>& inputs,
               const std::vector<Tensor>& v, const FunctionalOptions& options = {},
               Where where = Where::current());
// [output][input]: shape output.shape + input.shape.
std::vector<std::vector<Tensor>> jacobian(const TensorFunction& f,
                                          const std::vector<Tensor>& inputs,
                                          const FunctionalOptions& options = {},
                                          Where where = Where::current());
// Of a function with one scalar output. [input][input]: shape input.shape + input.shape.
std::vector<std::vector<Tensor>> hessian(const TensorFunction& f, const std::vector<Tensor>& inputs,
                                         const FunctionalOptions& options = {},
                                         Where where = Where::current());
// (f(x), H v), forward over reverse; (f(x), v^T H), reverse over reverse.
OutputsAnd hvp(const TensorFunction& f, const std::vector<Tensor>& inputs,
               const std::vector<Tensor>& v, const FunctionalOptions& options = {},
               Where where = Where::current());
OutputsAnd vhp(const TensorFunction& f, const std::vector<Tensor>& inputs,
               const std::vector<Tensor>& v, const FunctionalOptions& options = {},
               Where where = Where::current());

}  // namespace wick
