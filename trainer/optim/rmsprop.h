// RMSprop (Tieleman and Hinton 2012; Graves 2013 centered; torch.optim.RMSprop).
#pragma once

#include "trainer/optim/group_optimizer.h"

namespace wick::optim {

// Options of RMSprop, with the defaults of torch.optim.RMSprop.
struct RMSpropOptions {
  double lr = 1e-2;         // learning rate
  double alpha = 0.99;      // decay of the mean of squared gradients
  double eps = 1e-8;        // added to the root
  double weight_decay = 0;  // added to the gradient, times the parameter
  double momentum = 0;      // of the update; 0: none
  bool centered = false;    // subtracts the squared mean gradient: a variance
  bool maximize = false;    // follows the gradient upwards

  // Calls f(name, field) for each option; state_dict() and load_state_dict() use it.
  template <class F>
  void fields(F&& f) {
    f("lr", lr), f("alpha", alpha), f("eps", eps);
    f("weight_decay", weight_decay), f("momentum", momentum), f("centered", centered);
    f("maximize", maximize);
  }
  // Throws Error for a number that is negative or not finite.
  void check(const char* op, const Where& where) const;
};

// s = alpha s + (1 - alpha) g^2. If centered, a = alpha a + (1 - alpha) g, and s - a^2 replaces s
// in d = g / (sqrt(s) + eps). With momentum b = momentum b + d and p -= lr b, else p -= lr d.
struct RMSpropRule {
  // These are what GroupOptimizer reads: see trainer/optim/group_optimizer.h.
  using Coefficients = RmspropCoefficients;
  static constexpr const char* kName = "rmsprop";
  static constexpr const char* kBuffers[] = {"square_avg", "grad_avg", "momentum_buffer"};
  static bool uses(const RMSpropOptions& o, size_t buffer) {
    return buffer == 0 || (buffer == 1 ? o.centered : o.momentum > 0);
  }
  static Coefficients prepare(const RMSpropOptions& o, ParamState& state, bool fresh);
  static constexpr auto kLoop = rmsprop_loop;
};
extern template class GroupOptimizer<RMSpropOptions, RMSpropRule>;

// torch.optim.RMSprop (Hinton's lecture 6e, 2012; centered: Graves, 2013). RMSpropRule has the
// formulas.
class RMSprop : public GroupOptimizer<RMSpropOptions, RMSpropRule> {
 public:
  using GroupOptimizer::GroupOptimizer;
};

}  // namespace wick::optim
