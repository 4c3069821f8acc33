// Rectified Adam (Liu et al. 2019; torch.optim.RAdam).
#pragma once

#include "trainer/optim/group_optimizer.h"

namespace wick::optim {

struct RAdamOptions {
  double lr = 1e-3;
  double beta1 = 0.9;
  double beta2 = 0.999;
  double eps = 1e-8;
  double weight_decay = 0;

  template <class F>
  void fields(F&& f) {
    f("lr", lr), f("beta1", beta1), f("beta2", beta2);
    f("eps", eps), f("weight_decay", weight_decay);
  }
  void check(const char* op, const Where& where) const;
};

// m and v are those of Adam, m^ = m / (1 - beta1^t). rho = 2 / (1 - beta2) - 1 and rho_t = rho - 2
// t beta2^t / (1 - beta2^t). If rho_t > 5, p -= lr m^ sqrt(1 - beta2^t) / (sqrt(v) + eps) r with
// r^2 = (rho_t - 4) (rho_t - 2) rho / ((rho - 4) (rho - 2) rho_t); before that p -= lr m^.
struct RAdamRule {
  using Options = RAdamOptions;
  using Coefficients = RadamCoefficients;
  static constexpr const char* kName = "radam";
  static constexpr const char* kBuffers[] = {"exp_avg", "exp_avg_sq"};
  static bool uses(const RAdamOptions&, size_t) { return true; }
  static Coefficients prepare(const RAdamOptions& o, ParamState& state, bool fresh);
  static constexpr auto kLoop = radam_loop;
};
extern template class GroupOptimizer<RAdamOptions, RAdamRule>;

class RAdam : public GroupOptimizer<RAdamOptions, RAdamRule> {
 public:
  using GroupOptimizer::GroupOptimizer;
};

}  // namespace wick::optim
