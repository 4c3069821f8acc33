// Optimizers: PyTorch's formulas, argument names and defaults, over groups of parameters.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include "runtime/core/function_ref.h"
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

struct OptimizerFootprint {
  int64_t parameters = 0;    // bytes
  int64_t state = 0;         // bytes kept between steps; made by the first step
  std::string text() const;  // "parameters 2140 bytes, optimizer state 4280 bytes (2.0x)"
};

class Optimizer {
 public:
  virtual ~Optimizer() = default;
  // One update from the gradients that are there, all parameters of all groups in one pass;
  // parameters without one are left alone. An error leaves every parameter as it was.
  void step();
  // closure() clears the gradients, computes the loss and runs backward, with gradients recorded
  // whatever the caller's mode is; the update follows. LBFGS calls it several times. Returns what
  // closure did the first time: the loss.
  template <class F>
  auto step(F&& closure) {
    std::optional<std::decay_t<decltype(closure())>> first, last;
    auto evaluate = [&] {
      EnableGrad guard;
      last.emplace(closure());
      if (!first) first = last;
    };
    auto loss = [&] { return number_of(*last); };
    step_by({evaluate, loss});
    return *std::move(first);
  }
  // Declares that step() is called after every backward(), and that k of them make one update:
  // step() acts at each k-th call, and clears the gradients after it. Gradients are summed: divide
  // the loss by k for their mean. k = 1: every call acts, and the caller clears.
  void accumulate(int64_t k, Where where = Where::current());
  // Whether the next step() acts, and does not only count.
  bool acts_next() const { return accumulate_ == 1 || (calls_ + 1) % accumulate_ == 0; }
  // A step() that leaves every parameter and the state as they are: what GradScaler calls where
  // gradients are not finite. It counts, and clears where accumulate() has step() clear.
  void skip_step();
  // Undefined gradients (true) skip their parameter in the next step; zero ones do not.
  void zero_grad(bool set_to_none = true);

  virtual int groups() const = 0;
  // The settings of a group; no such group is an Error.
  double lr(int group = 0) const;
  void set_lr(int group, double lr);
  // What schedules start from: the lr at which the first schedule found the group.
  double initial_lr(int group = 0) const;
  void set_initial_lr(int group, double lr);
  // "momentum", or Adam's beta1: what OneCycleLR and CyclicLR move against the rate. None: Error.
  bool has_momentum() const;
  bool has_betas() const;  // it is beta1
  double momentum(int group = 0) const;
  void set_momentum(int group, double momentum);

  OptimizerFootprint memory_footprint() const;
  virtual const char* name() const = 0;
  const std::vector<Tensor>& params(int group = 0) const;

  // Shares the tensors of the state, not copies.
  virtual OptimizerState state_dict() const = 0;
  // The parameters must be those of the saved optimizer, in number, order and shape.
  virtual void load_state_dict(const OptimizerState& state, Where where = Where::current()) = 0;

 protected:
  // Where the settings of a group lie; `momentum` is null where the options have none.
  struct GroupFields {
    double* lr;
    double* initial_lr;
    double* momentum;
    bool momentum_is_beta1;
  };
  virtual GroupFields fields(int group) const = 0;
  virtual const std::vector<Tensor>& group_params(int group) const = 0;
  virtual void update() = 0;

  struct Closure {
    FunctionRef<void()> evaluate;  // the gradients are those of the parameters as they are
    FunctionRef<double()> loss;    // of the last evaluation, which waits for a device
  };
  // What step(closure) does: one evaluation and step(). For optimizers that evaluate more often.
  virtual void step_by(const Closure& closure) {
    closure.evaluate();
    step();
  }
  // For these: what step() does around update(). Gradients are taken after each evaluation: those
  // of float16 autocast are an Error, ones that were not cleared are reported.
  void take_gradients();
  void count_step();
  bool accumulates() const { return accumulate_ > 1; }

 private:
  template <class Loss>
  static double number_of(const Loss& loss) {
    if constexpr (std::is_same_v<Loss, Tensor>) {
      return loss.item();
    } else if constexpr (std::is_convertible_v<Loss, double>) {
      return static_cast<double>(loss);
    } else {
      throw Error(
          "[step] this optimizer needs the loss: closure() must return a Tensor or a number");
    }
  }
  GroupFields checked_fields(int group) const;
  void refuse_float16() const;
  // A gradient that an earlier step applied and that was added to since is reported, once an
  // optimizer ("stale-gradient").
  void report_stale();
  void mark_applied(int64_t step);

  int64_t steps_ = 0;  // made by this object
  int64_t accumulate_ = 1, calls_ = 0;
  bool reported_ = false;
};

// For the checks of options: finite and at least zero; in [0, 1).
void check_not_negative(const char* op, const char* name, double value, const Where& where);
void check_fraction(const char* op, const char* name, double value, const Where& where);

}  // namespace wick::optim
