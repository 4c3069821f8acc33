// Autograd's public face besides Tensor::backward(): gradients as values, and the check of a
// gradient against finite differences.
#pragma once

#include <functional>
#include <string>
#include <type_traits>
#include <vector>

#include "trainer/autograd/grad_fn.h"
#include "trainer/tensor/tensor.h"

namespace wick {

// Returns d(sum of outputs * grad_outputs) / d(inputs) and leaves .grad alone. An input that the
// outputs do not depend on is an error, unless allow_unused is set: then its gradient is undefined.
// With create_graph the gradients are differentiable.
std::vector<Tensor> grad(const std::vector<Tensor>& outputs, const std::vector<Tensor>& inputs,
                         const std::vector<Tensor>& grad_outputs = {}, bool retain_graph = false,
                         bool create_graph = false, bool allow_unused = false,
                         Where where = Where::current());

// Runs Tensor::backward of several tensors in one pass. `gradients` has one tensor for each of them
// (undefined: 1, for a scalar) or is empty. With `inputs`, which may be non-leaf tensors, only
// their .grad is accumulated into.
//
// Threads: each may run backward through graphs of its own, and these may share leaves
// (accumulation into one .grad takes a lock; the order of the sums is then the order of the
// threads). Two backwards at the same time through the same nodes are not allowed.
void backward(const std::vector<Tensor>& tensors, const std::vector<Tensor>& gradients = {},
              bool retain_graph = false, bool create_graph = false,
              const std::vector<Tensor>& inputs = {}, Where where = Where::current());

// Options of gradcheck(), with the defaults of torch.autograd.gradcheck but for raise_exception.
struct GradcheckOptions {
  double eps = 1e-6;             // half the distance of the two points of a numeric derivative
  double atol = 1e-5;            // absolute and
  double rtol = 1e-4;            // relative tolerance
  bool second_order = false;     // also checks the gradient of the gradient
  bool non_contiguous = false;   // also with inputs that are every other element of larger tensors
  double nondet_tol = 0;         // by how much two backwards of one call may differ
  bool raise_exception = false;  // throw Error instead of a result that is not ok
};
// gradcheck() found this. It does not throw by itself, so the compiler warns where nobody looks.
struct [[nodiscard]] GradcheckResult {
  bool ok = true;             // every gradient agrees
  std::string message;        // which input, which element, both values
  double worst = 0;           // largest |difference| / (atol + rtol * |numeric|)
  double worst_relative = 0;  // largest |difference| / max(1, |numeric|)
};
// Compares the gradients of f (any outputs, float64 inputs) with central differences.
GradcheckResult gradcheck(const std::function<std::vector<Tensor>(const std::vector<Tensor>&)>& f,
                          const std::vector<Tensor>& inputs, const GradcheckOptions& options = {},
                          Where where = Where::current());
// Runs gradcheck() with second_order set.
GradcheckResult gradgradcheck(
    const std::function<std::vector<Tensor>(const std::vector<Tensor>&)>& f,
    const std::vector<Tensor>& inputs, GradcheckOptions options = {},
    Where where = Where::current());

// F is a function of a list of tensors that returns one tensor.
template <class F>
concept OneTensorFunction =
    std::is_convertible_v<std::invoke_result_t<const F&, const std::vector<Tensor>&>, Tensor>;
// Check a function with one output.
template <OneTensorFunction F>
GradcheckResult gradcheck(const F& f, const std::vector<Tensor>& inputs,
                          const GradcheckOptions& options = {}, Where where = Where::current()) {
  const auto list = [&f](const std::vector<Tensor>& in) { return std::vector<Tensor>{f(in)}; };
  return gradcheck(list, inputs, options, where);
}
template <OneTensorFunction F>
GradcheckResult gradgradcheck(const F& f, const std::vector<Tensor>& inputs,
                              const GradcheckOptions& options = {},
                              Where where = Where::current()) {
  const auto list = [&f](const std::vector<Tensor>& in) { return std::vector<Tensor>{f(in)}; };
  return gradgradcheck(list, inputs, options, where);
}

}  // namespace wick
