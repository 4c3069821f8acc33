// Optimizers: PyTorch's formulas, argument names and defaults, over groups of parameters.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "trainer/nn/module.h"
#include "trainer/tensor/tensor.h"

namespace wick::optim {

// What step() remembers and what it was set to. Tensors are named "state.3.momentum_buffer" (the
// parameter's number over all groups); `settings` is JSON: steps taken by each parameter, options
// of each group.
struct OptimizerState {
  nn::NamedTensors tensors;
  std::string settings;
};

class Optimizer {
 public:
  virtual ~Optimizer() = default;
  // One update from the gradients that are there; parameters without one are left alone.
  virtual void step() = 0;
  // Undefined gradients (true) skip their parameter in the next step; zero ones do not.
  void zero_grad(bool set_to_none = true);

  virtual int groups() const = 0;
  virtual double lr(int group = 0) const = 0;
  virtual void set_lr(int group, double lr) = 0;

  // Shares the tensors of the state, not copies.
  virtual OptimizerState state_dict() const = 0;
  // The parameters must be those of the saved optimizer, in number, order and shape.
  virtual void load_state_dict(const OptimizerState& state, Where where = Where::current()) = 0;

 protected:
  virtual const std::vector<Tensor>& group_params(int group) const = 0;
};

}  // namespace wick::optim
