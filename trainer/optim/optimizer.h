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

// The state of an optimizer. Tensors are named "state.3.momentum_buffer" (the parameter's index
// over all groups); `settings` is JSON with the number of steps of each parameter and the options
// of each group.
struct OptimizerState {
  nn::NamedTensors tensors;  // parameters' state, by name
  std::string settings;      // JSON
};

// Memory that an optimizer keeps, in bytes.
struct OptimizerFootprint {
  int64_t parameters = 0;    // bytes
  int64_t state = 0;         // bytes kept between steps, allocated by the first step
  std::string text() const;  // "parameters 2140 bytes, optimizer state 4280 bytes (2.0x)"
};

// The base of the optimizers: torch.optim.Optimizer. Parameters are leaves of float32 or float64
// that require grad; each belongs to one group.
class Optimizer {
 public:
  virtual ~Optimizer();
  // Makes one update from the present gradients, in one pass over all parameters of all groups;
  // parameters without a gradient are skipped. An error leaves every parameter unchanged.
  void step();
  // closure() clears the gradients, computes the loss and runs backward; recording is enabled for
  // it in any mode. Then the update is made. LBFGS calls it several times. Returns the result of
  // the first call, the loss.
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
  // every k-th call of step() updates, and clears the gradients afterwards. Gradients are summed:
  // divide the loss by k to get their mean. k = 1: every call updates, and the caller clears.
  void accumulate(int64_t k, Where where = Where::current());
  // Returns whether the next step() makes an update instead of only counting.
  bool acts_next() const { return accumulate_ == 1 || (calls_ + 1) % accumulate_ == 0; }
  // Counts as a step() but leaves every parameter and the state unchanged; GradScaler calls it if
  // gradients are not finite. It clears the gradients if accumulate() makes step() do so.
  void skip_step();
  // With true the gradients become undefined, so that the next step skips their parameters; with
  // false they become zero, and it does not.
  void zero_grad(bool set_to_none = true);

  // Returns the number of parameter groups.
  virtual int groups() const = 0;
  // Get and set the learning rate of a group; throw Error if there is no such group.
  double lr(int group = 0) const;
  void set_lr(int group, double lr);
  // The rate that schedules start from: the lr that the first schedule found.
  double initial_lr(int group = 0) const;
  void set_initial_lr(int group, double lr);
  // "momentum", or Adam's beta1, which OneCycleLR and CyclicLR move against the rate. Throws Error
  // if there is none.
  bool has_momentum() const;
  bool has_betas() const;  // true if it is beta1
  double momentum(int group = 0) const;
  void set_momentum(int group, double momentum);

  // Returns the bytes of parameters and state.
  OptimizerFootprint memory_footprint() const;
  // Returns the optimizer's name in messages and in its state: "adam".
  virtual const char* name() const = 0;
  // Returns the parameters of a group; throws Error if there is no such group.
  const std::vector<Tensor>& params(int group = 0) const;

  // Shares the tensors of the state; they are not copied.
  virtual OptimizerState state_dict() const = 0;
  // The parameters must match those of the saved optimizer in number, order and shape.
  virtual void load_state_dict(const OptimizerState& state, Where where = Where::current()) = 0;

 protected:
  // Pointers to the settings of a group: lr, initial_lr and momentum, which is null if the options
  // have none; momentum_is_beta1: it is Adam's beta1.
  struct GroupFields {
    double* lr;
    double* initial_lr;
    double* momentum;
    bool momentum_is_beta1;
  };
  // An optimizer implements these: the settings of a group, its parameters, and the update of all
  // of them from their gradients.
  virtual GroupFields fields(int group) const = 0;
  virtual const std::vector<Tensor>& group_params(int group) const = 0;
  virtual void update() = 0;

  // step(closure) hands this to step_by().
  struct Closure {
    FunctionRef<void()> evaluate;  // computes the gradients at the present parameters
    FunctionRef<double()> loss;    // of the last evaluation; waits for a device
  };
  // Does the work of step(closure): one evaluation and step(). Optimizers that evaluate more often
  // override it.
  virtual void step_by(const Closure& closure) {
    closure.evaluate();
    step();
  }
  // Such optimizers call these in place of what step() does around update(). take_gradients() comes
  // after each evaluation: gradients of float16 autocast are an Error, and gradients that were not
  // cleared are reported.
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
  void step_now();
  void refuse_float16() const;
  // Warns once per optimizer ("stale-gradient") if a gradient that an earlier step applied was
  // accumulated into since.
  void report_stale();
  void mark_applied(int64_t step);

  int64_t steps_ = 0;  // made by this object
  int64_t accumulate_ = 1, calls_ = 0;
  bool reported_ = false;
};

// Check options: finite and not negative; in [0, 1).
void check_not_negative(const char* op, const char* name, double value, const Where& where);
void check_fraction(const char* op, const char* name, double value, const Where& where);

}  // namespace wick::optim
