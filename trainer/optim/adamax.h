// Adam with the infinity norm (Kingma and Ba 2014; torch.optim.Adamax).
#pragma once

#include "trainer/optim/group_optimizer.h"

namespace wick::optim {

// Options of Adamax, with the defaults of torch.optim.Adamax.
struct AdamaxOptions {
  double lr = 2e-3;         // learning rate
  double beta1 = 0.9;       // decay of the mean of gradients, in [0, 1)
  double beta2 = 0.999;     // decay of their largest magnitude, in [0, 1)
  double eps = 1e-8;        // added to each magnitude
  double weight_decay = 0;  // added to the gradient, times the parameter
  bool maximize = false;    // follows the gradient upwards

  // Calls f(name, field) for each option; state_dict() and load_state_dict() use it.
  template <class F>
  void fields(F&& f) {
    f("lr", lr), f("beta1", beta1), f("beta2", beta2);
    f("eps", eps), f("weight_decay", weight_decay), f("maximize", maximize);
  }
  // Throws Error for a number that is negative or not finite, and for a beta outside of [0, 1).
  void check(const char* op, const Where& where) const;
};

// m is that of Adam; u = max(beta2 u, |g| + eps); p -= lr / (1 - beta1^t) m / u
struct AdamaxRule {
  // These are what GroupOptimizer reads: see trainer/optim/group_optimizer.h.
  using Coefficients = AdamaxCoefficients;
  static constexpr const char* kName = "adamax";
  static constexpr const char* kBuffers[] = {"exp_avg", "exp_inf"};
  static bool uses(const AdamaxOptions&, size_t) { return true; }
  static Coefficients prepare(const AdamaxOptions& o, ParamState& state, bool fresh);
  static constexpr auto kLoop = adamax_loop;
};
extern template class GroupOptimizer<AdamaxOptions, AdamaxRule>;

// torch.optim.Adamax (Kingma and Ba, 2015, section 7.1). AdamaxRule has the formulas.
class Adamax : public GroupOptimizer<AdamaxOptions, AdamaxRule> {
 public:
  using GroupOptimizer::GroupOptimizer;
};

}  // namespace wick::optim
