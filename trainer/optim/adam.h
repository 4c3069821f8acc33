// Adam and AdamW (torch.optim).
#pragma once

#include "trainer/optim/group_optimizer.h"

namespace wick::optim {

// Two aggregate types: {.lr = 3e-4} keeps each one's default of weight_decay.
template <bool kDecoupled>
struct AdamOptionsOf {
  double lr = 1e-3;
  double beta1 = 0.9;
  double beta2 = 0.999;
  double eps = 1e-8;
  double weight_decay = kDecoupled ? 1e-2 : 0;
  bool amsgrad = false;
  bool maximize = false;

  template <class F>
  void fields(F&& f) {
    f("lr", lr), f("beta1", beta1), f("beta2", beta2), f("eps", eps);
    f("weight_decay", weight_decay), f("amsgrad", amsgrad), f("maximize", maximize);
  }
  void check(const char* op, const Where& where) const;
};
using AdamOptions = AdamOptionsOf<false>;
using AdamWOptions = AdamOptionsOf<true>;
extern template struct AdamOptionsOf<false>;
extern template struct AdamOptionsOf<true>;

// m = beta1 m + (1 - beta1) g; v = beta2 v + (1 - beta2) g^2; p -= lr / (1 - beta1^t) * m /
// (sqrt(v) / sqrt(1 - beta2^t) + eps). Weight decay is added to g (Adam), or first shrinks p by the
// factor 1 - lr weight_decay (AdamW).
template <bool kDecoupled>
struct AdamRule {
  using Options = AdamOptionsOf<kDecoupled>;
  using Coefficients = AdamCoefficients;
  static constexpr const char* kName = kDecoupled ? "adamw" : "adam";
  static constexpr const char* kBuffers[] = {"exp_avg", "exp_avg_sq", "max_exp_avg_sq"};
  static bool uses(const Options& o, size_t buffer) { return buffer < 2 || o.amsgrad; }
  static Coefficients prepare(const Options& o, ParamState& state, bool fresh);
  static constexpr auto kLoop = adam_loop;
};
extern template class GroupOptimizer<AdamOptions, AdamRule<false>>;
extern template class GroupOptimizer<AdamWOptions, AdamRule<true>>;

class Adam : public GroupOptimizer<AdamOptions, AdamRule<false>> {
 public:
  using GroupOptimizer::GroupOptimizer;
};
class AdamW : public GroupOptimizer<AdamWOptions, AdamRule<true>> {
 public:
  using GroupOptimizer::GroupOptimizer;
};

}  // namespace wick::optim
