// The node of a custom Function; internal to autograd.
#pragma once

#include "trainer/autograd/function.h"
#include "trainer/autograd/node.h"

namespace wick {

class FunctionNode final : public Node {
 public:
  FunctionNode(AutogradContext&& ctx, const FunctionCall& call);
  ~FunctionNode() override = default;
  std::string name() const override { return name_; }
  void apply(Span<const Tensor> grads, Span<Tensor> results) override;
  void release() override;
  bool released() const override { return released_; }
  void outputs_have_tangents(Span<const Tensor> out) override;

  // Saves the tensors that forward listed. Outputs are saved without their history, which is this
  // node.
  void keep(const variable_list& inputs, const variable_list& outputs,
            const variable_list& tensors);
  variable_list saved() const;
  bool wants_argument(size_t argument) const;

 private:
  variable_list call_backward(const variable_list& grads);

  struct Saved {
    SavedTensor tensor;
    int output = -1, input = -1;  // which output or input it is
  };
  AutogradContext ctx_;
  std::string name_;
  bool once_differentiable_;
  std::function<variable_list(AutogradContext&, const variable_list&)> backward_;
  std::vector<size_t> argument_of_;
  size_t arguments_;
  std::vector<Saved> saved_;
  bool released_ = false;
};

}  // namespace wick
