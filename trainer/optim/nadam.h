// Adam with Nesterov momentum (Dozat 2016; torch.optim.NAdam).
#pragma once

#include "trainer/optim/group_optimizer.h"

namespace wick::optim {

// Options of NAdam, with the defaults of torch.optim.NAdam.
struct NAdamOptions {
  double lr = 2e-3;              // learning rate
  double beta1 = 0.9;            // decay of the mean of gradients, in [0, 1)
  double beta2 = 0.999;          // decay of the mean of their squares, in [0, 1)
  double eps = 1e-8;             // added to the root
  double weight_decay = 0;       // added to the gradient, times the parameter
  double momentum_decay = 4e-3;  // how quickly mu_t rises to beta1

  // Calls f(name, field) for each option; state_dict() and load_state_dict() use it.
  template <class F>
  void fields(F&& f) {
    f("lr", lr), f("beta1", beta1), f("beta2", beta2);
    f("eps", eps), f("weight_decay", weight_decay), f("momentum_decay", momentum_decay);
  }
  // Throws Error for a number that is negative or not finite, and for a beta outside of [0, 1).
  void check(const char* op, const Where& where) const;
};

// mu_t = beta1 (1 - 0.96^(t momentum_decay) / 2), M_t = mu_1 ... mu_t; m and v are those of Adam; p
// -= lr ((1 - mu_t) / (1 - M_t) g + mu_(t+1) / (1 - M_(t+1)) m) / (sqrt(v / (1 - beta2^t)) + eps).
// Like PyTorch 1.13 it uses M_t mu_t mu_(t+1) for M_(t+1).
struct NAdamRule {
  // These are what GroupOptimizer reads: see trainer/optim/group_optimizer.h.
  using Coefficients = NadamCoefficients;
  static constexpr const char* kName = "nadam";
  static constexpr const char* kBuffers[] = {"exp_avg", "exp_avg_sq"};
  static bool uses(const NAdamOptions&, size_t) { return true; }
  static Coefficients prepare(const NAdamOptions& o, ParamState& state, bool fresh);
  static constexpr auto kLoop = nadam_loop;
  static constexpr const char* kNumbers[] = {"products"};  // M_t
};
extern template class GroupOptimizer<NAdamOptions, NAdamRule>;

// torch.optim.NAdam (Dozat, 2016). NAdamRule has the formulas.
class NAdam : public GroupOptimizer<NAdamOptions, NAdamRule> {
 public:
  using GroupOptimizer::GroupOptimizer;
};

}  // namespace wick::optim
