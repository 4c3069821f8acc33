// Lion, a sign momentum method that was found by search (Chen et al. 2023, "Symbolic Discovery of
// Optimization Algorithms"). Its learning rate should be a third to a tenth of AdamW's, and its
// weight decay larger by the same factor.
#pragma once

#include "trainer/optim/group_optimizer.h"

namespace wick::optim {

// Options of Lion.
struct LionOptions {
  double lr = 1e-4;         // learning rate
  double beta1 = 0.9;       // share of the momentum in the update, in [0, 1)
  double beta2 = 0.99;      // decay of the momentum, in [0, 1)
  double weight_decay = 0;  // decoupled, as AdamW's
  bool maximize = false;    // follows the gradient upwards

  // Calls f(name, field) for each option; state_dict() and load_state_dict() use it.
  template <class F>
  void fields(F&& f) {
    f("lr", lr), f("beta1", beta1), f("beta2", beta2);
    f("weight_decay", weight_decay), f("maximize", maximize);
  }
  // Throws Error for a number that is negative or not finite, and for a beta outside of [0, 1).
  void check(const char* op, const Where& where) const;
};

// p = p (1 - lr weight_decay) - lr sign(beta1 m + (1 - beta1) g); m = beta2 m + (1 - beta2) g
struct LionRule {
  // These are what GroupOptimizer reads: see trainer/optim/group_optimizer.h.
  using Coefficients = LionCoefficients;
  static constexpr const char* kName = "lion";
  static constexpr const char* kBuffers[] = {"exp_avg"};
  static bool uses(const LionOptions&, size_t) { return true; }
  static Coefficients prepare(const LionOptions& o, ParamState& state, bool fresh);
  static constexpr auto kLoop = lion_loop;
};
extern template class GroupOptimizer<LionOptions, LionRule>;

// Lion. LionRule has the formulas. PyTorch has no such optimizer.
class Lion : public GroupOptimizer<LionOptions, LionRule> {
 public:
  using GroupOptimizer::GroupOptimizer;
};

}  // namespace wick::optim
