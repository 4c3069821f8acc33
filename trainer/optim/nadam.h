// Adam with Nesterov momentum (Dozat 2016; torch.optim.NAdam).
#pragma once

#include "trainer/optim/group_optimizer.h"

namespace wick::optim {

struct NAdamOptions {
  double lr = 2e-3;
  double beta1 = 0.9;
  double beta2 = 0.999;
  double eps = 1e-8;
  double weight_decay = 0;
  double momentum_decay = 4e-3;

  template <class F>
  void fields(F&& f) {
    f("lr", lr), f("beta1", beta1), f("beta2", beta2);
    f("eps", eps), f("weight_decay", weight_decay), f("momentum_decay", momentum_decay);
  }
  void check(const char* op, const Where& where) const;
};

// mu_t = beta1 (1 - 0.96^(t momentum_decay) / 2), M_t = mu_1 ... mu_t; m and v are those of Adam; p
// -= lr ((1 - mu_t) / (1 - M_t) g + mu_(t+1) / (1 - M_(t+1)) m) / (sqrt(v / (1 - beta2^t)) + eps).
// Like PyTorch 1.13 it uses M_t mu_t mu_(t+1) for M_(t+1).
struct NAdamRule {
  using Options = NAdamOptions;
  using Coefficients = NadamCoefficients;
  static constexpr const char* kName = "nadam";
  static constexpr const char* kBuffers[] = {"exp_avg", "exp_avg_sq"};
  static bool uses(const NAdamOptions&, size_t) { return true; }
  static Coefficients prepare(const NAdamOptions& o, ParamState& state, bool fresh);
  static constexpr auto kLoop = nadam_loop;
  static constexpr const char* kNumbers[] = {"products"};  // M_t
};
extern template class GroupOptimizer<NAdamOptions, NAdamRule>;

class NAdam : public GroupOptimizer<NAdamOptions, NAdamRule> {
 public:
  using GroupOptimizer::GroupOptimizer;
};

}  // namespace wick::optim
