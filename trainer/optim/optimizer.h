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
  // Declares that step() is called after every backward(), and that k of them make one update:
  // step() acts at each k-th call, and clears the gradients after it. Gradients are summed: divide
  // the loss by k for their mean. k = 1: every call acts, and the caller clears.
  void accumulate(int64_t k, Where where = Where::current());
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
  // Around the updates of step(). False: this call only counts. A gradient that an earlier step
  // applied and that was added to since is reported, once an optimizer ("stale-gradient").
  bool begin_step();
  void end_step();

 private:
  int64_t steps_ = 0;  // made by this object
  int64_t accumulate_ = 1, calls_ = 0;
  bool reported_ = false;
};

}  // namespace wick::optim
