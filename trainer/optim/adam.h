// Adam and AdamW (torch.optim).
#pragma once

#include "trainer/optim/group_optimizer.h"

namespace wick::optim {

// Options of Adam (kDecoupled is false) and AdamW (true), with the defaults of torch.optim. They
// are two aggregate types: {.lr = 3e-4} keeps each one's default of weight_decay.
template <bool kDecoupled>
struct AdamOptionsOf {
  double lr = 1e-3;      // learning rate
  double beta1 = 0.9;    // decay of the mean of gradients, in [0, 1)
  double beta2 = 0.999;  // decay of the mean of their squares, in [0, 1)
  double eps = 1e-8;     // added to the root
  double weight_decay =
      kDecoupled ? 1e-2 : 0;  // added to the gradient (Adam), or decoupled (AdamW)
  bool amsgrad = false;       // divides by the largest mean of squares so far (Reddi et al., 2018)
  bool maximize = false;      // follows the gradient upwards

  // Calls f(name, field) for each option; state_dict() and load_state_dict() use it.
  template <class F>
  void fields(F&& f) {
    f("lr", lr), f("beta1", beta1), f("beta2", beta2), f("eps", eps);
    f("weight_decay", weight_decay), f("amsgrad", amsgrad), f("maximize", maximize);
  }
  // Throws Error for a number that is negative or not finite, and for a beta outside of [0, 1).
  void check(const char* op, const Where& where) const;
};
// Options of Adam: weight_decay is 0 by default.
using AdamOptions = AdamOptionsOf<false>;
// Options of AdamW: weight_decay is 1e-2 by default.
using AdamWOptions = AdamOptionsOf<true>;
extern template struct AdamOptionsOf<false>;
extern template struct AdamOptionsOf<true>;

// m = beta1 m + (1 - beta1) g; v = beta2 v + (1 - beta2) g^2; p -= lr / (1 - beta1^t) * m /
// (sqrt(v) / sqrt(1 - beta2^t) + eps). Weight decay is added to g (Adam), or first shrinks p by the
// factor 1 - lr weight_decay (AdamW).
template <bool kDecoupled>
struct AdamRule {
  using Options = AdamOptionsOf<kDecoupled>;  // of Adam or AdamW
  // These are what GroupOptimizer reads: see trainer/optim/group_optimizer.h.
  using Coefficients = AdamCoefficients;
  static constexpr const char* kName = kDecoupled ? "adamw" : "adam";
  static constexpr const char* kBuffers[] = {"exp_avg", "exp_avg_sq", "max_exp_avg_sq"};
  static bool uses(const Options& o, size_t buffer) { return buffer < 2 || o.amsgrad; }
  static Coefficients prepare(const Options& o, ParamState& state, bool fresh);
  static constexpr auto kLoop = adam_loop;
};
extern template class GroupOptimizer<AdamOptions, AdamRule<false>>;
extern template class GroupOptimizer<AdamWOptions, AdamRule<true>>;

// torch.optim.Adam (Kingma and Ba, 2015). AdamRule has the formulas.
class Adam : public GroupOptimizer<AdamOptions, AdamRule<false>> {
 public:
  using GroupOptimizer::GroupOptimizer;
};
// torch.optim.AdamW (Loshchilov and Hutter, 2019): weight decay that the gradient's scale does not
// change.
class AdamW : public GroupOptimizer<AdamWOptions, AdamRule<true>> {
 public:
  using GroupOptimizer::GroupOptimizer;
};

}  // namespace wick::optim
