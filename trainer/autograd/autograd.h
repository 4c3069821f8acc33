// Autograd's public face besides Tensor::backward(): gradients as values, and the check of a
// gradient against finite differences.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "trainer/tensor/tensor.h"

namespace wick {

// d(sum of outputs * grad_outputs) / d(inputs). Nothing is added to .grad. An input the outputs do
// not depend on is an error, unless allow_unused: then its gradient is undefined. create_graph: the
// gradients are differentiable.
std::vector<Tensor> grad(const std::vector<Tensor>& outputs, const std::vector<Tensor>& inputs,
                         const std::vector<Tensor>& grad_outputs = {}, bool retain_graph = false,
                         bool create_graph = false, bool allow_unused = false,
                         Where where = Where::current());

struct GradcheckOptions {
  double eps = 1e-6;
  double atol = 1e-5;
  double rtol = 1e-4;
  bool second_order = false;  // also checks the gradient of the gradient
};
struct GradcheckResult {
  bool ok = true;
  std::string message;        // which input, which element, both values
  double worst = 0;           // largest |difference| / (atol + rtol * |numeric|)
  double worst_relative = 0;  // largest |difference| / max(1, |numeric|)
};
// Compares the gradients of f (any outputs, float64 inputs) with central differences.
GradcheckResult gradcheck(const std::function<std::vector<Tensor>(const std::vector<Tensor>&)>& f,
                          const std::vector<Tensor>& inputs, const GradcheckOptions& options = {},
                          Where where = Where::current());

}  // namespace wick
