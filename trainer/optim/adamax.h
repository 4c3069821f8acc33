// Adam with the infinity norm (Kingma and Ba 2014; torch.optim.Adamax).
#pragma once

#include "trainer/optim/group_optimizer.h"

namespace wick::optim {

struct AdamaxOptions {
  double lr = 2e-3;
  double beta1 = 0.9;
  double beta2 = 0.999;
  double eps = 1e-8;
  double weight_decay = 0;
  bool maximize = false;

  template <class F>
  void fields(F&& f) {
    f("lr", lr), f("beta1", beta1), f("beta2", beta2);
    f("eps", eps), f("weight_decay", weight_decay), f("maximize", maximize);
  }
  void check(const char* op, const Where& where) const;
};

// m is that of Adam; u = max(beta2 u, |g| + eps); p -= lr / (1 - beta1^t) m / u
struct AdamaxRule {
  using Options = AdamaxOptions;
  using Coefficients = AdamaxCoefficients;
  static constexpr const char* kName = "adamax";
  static constexpr const char* kBuffers[] = {"exp_avg", "exp_inf"};
  static bool uses(const AdamaxOptions&, size_t) { return true; }
  static Coefficients prepare(const AdamaxOptions& o, ParamState& state, bool fresh);
  static constexpr auto kLoop = adamax_loop;
};
extern template class GroupOptimizer<AdamaxOptions, AdamaxRule>;

class Adamax : public GroupOptimizer<AdamaxOptions, AdamaxRule> {
 public:
  using GroupOptimizer::GroupOptimizer;
};

}  // namespace wick::optim
