// Rectified Adam (Liu et al. 2019; torch.optim.RAdam).
#pragma once

#include "trainer/optim/group_optimizer.h"

namespace wick::optim {

// Options of RAdam, with the defaults of torch.optim.RAdam.
struct RAdamOptions {
  double lr = 1e-3;         // learning rate
  double beta1 = 0.9;       // decay of the mean of gradients, in [0, 1)
  double beta2 = 0.999;     // decay of the mean of their squares, in [0, 1)
  double eps = 1e-8;        // added to the root
  double weight_decay = 0;  // added to the gradient, times the parameter

  // Calls f(name, field) for each option; state_dict() and load_state_dict() use it.
  template <class F>
  void fields(F&& f) {
    f("lr", lr), f("beta1", beta1), f("beta2", beta2);
    f("eps", eps), f("weight_decay", weight_decay);
  }
  // Throws Error for a number that is negative or not finite, and for a beta outside of [0, 1).
  void check(const char* op, const Where& where) const;
};

// m and v are those of Adam, m^ = m / (1 - beta1^t). rho = 2 / (1 - beta2) - 1 and rho_t = rho - 2
// t beta2^t / (1 - beta2^t). If rho_t > 5, p -= lr m^ sqrt(1 - beta2^t) / (sqrt(v) + eps) r with
// r^2 = (rho_t - 4) (rho_t - 2) rho / ((rho - 4) (rho - 2) rho_t); before that p -= lr m^.
struct RAdamRule {
  // These are what GroupOptimizer reads: see trainer/optim/group_optimizer.h.
  using Coefficients = RadamCoefficients;
  static constexpr const char* kName = "radam";
  static constexpr const char* kBuffers[] = {"exp_avg", "exp_avg_sq"};
  static bool uses(const RAdamOptions&, size_t) { return true; }
  static Coefficients prepare(const RAdamOptions& o, ParamState& state, bool fresh);
  static constexpr auto kLoop = radam_loop;
};
extern template class GroupOptimizer<RAdamOptions, RAdamRule>;

// torch.optim.RAdam (Liu et al., 2020). RAdamRule has the formulas.
class RAdam : public GroupOptimizer<RAdamOptions, RAdamRule> {
 public:
  using GroupOptimizer::GroupOptimizer;
};

}  // namespace wick::optim
