// Averaged stochastic gradient descent (Polyak and Juditsky 1992; torch.optim.ASGD).
#pragma once

#include "trainer/optim/group_optimizer.h"

namespace wick::optim {

// Options of ASGD, with the defaults of torch.optim.ASGD.
struct AsgdOptions {
  double lr = 1e-2;         // learning rate
  double lambd = 1e-4;      // decay, of the parameter and of the rate
  double alpha = 0.75;      // power of the rate's decay
  double t0 = 1e6;          // the step from which on parameters are averaged
  double weight_decay = 0;  // added to the gradient, times the parameter
  bool maximize = false;    // follows the gradient upwards

  // Calls f(name, field) for each option; state_dict() and load_state_dict() use it.
  template <class F>
  void fields(F&& f) {
    f("lr", lr), f("lambd", lambd), f("alpha", alpha), f("t0", t0);
    f("weight_decay", weight_decay), f("maximize", maximize);
  }
  // Errors: a number that is negative or not finite.
  void check(const char* op, const Where& where) const;
};

// g += weight_decay p; p = p (1 - lambd eta) - eta g; ax = p while mu is 1, else ax += mu (p - ax);
// eta = lr / (1 + lambd lr t)^alpha and mu = 1 / max(1, t - t0) for the next step, at first lr and
// 1. eta and mu are double, where PyTorch rounds them to its default type. A schedule's rate acts
// one step late therefore, as in PyTorch. `ax` of the state dict is what was averaged.
struct AsgdRule {
  // These are what GroupOptimizer reads: see trainer/optim/group_optimizer.h.
  using Coefficients = AsgdCoefficients;
  static constexpr const char* kName = "asgd";
  static constexpr const char* kBuffers[] = {"ax"};
  static constexpr const char* kNumbers[] = {"etas", "mus"};
  static bool uses(const AsgdOptions&, size_t) { return true; }
  static Coefficients prepare(const AsgdOptions& o, ParamState& state, bool fresh);
  static constexpr auto kLoop = asgd_loop;
};
extern template class GroupOptimizer<AsgdOptions, AsgdRule>;

// torch.optim.ASGD: averaged stochastic gradient descent (Polyak and Juditsky, 1992).
class ASGD : public GroupOptimizer<AsgdOptions, AsgdRule> {
 public:
  using GroupOptimizer::GroupOptimizer;
};

}  // namespace wick::optim
