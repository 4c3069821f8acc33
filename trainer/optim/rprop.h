// Resilient backpropagation (Riedmiller and Braun 1993; torch.optim.Rprop).
#pragma once

#include <utility>

#include "trainer/optim/group_optimizer.h"

namespace wick::optim {

// Options of Rprop, with the defaults of torch.optim.Rprop.
struct RpropOptions {
  double lr = 1e-2;                                   // the size of the first steps only
  std::pair<double, double> etas = {0.5, 1.2};        // factors after a change of sign and without
  std::pair<double, double> step_sizes = {1e-6, 50};  // the least and the largest step
  bool maximize = false;                              // follows the gradient upwards

  // Calls f(name, field) for each option; state_dict() and load_state_dict() use it.
  template <class F>
  void fields(F&& f) {
    f("lr", lr), f("etaminus", etas.first), f("etaplus", etas.second);
    f("step_size_min", step_sizes.first), f("step_size_max", step_sizes.second);
    f("maximize", maximize);
  }
  // Errors: lr that is negative or not finite, etas other than 0 < minus < 1 < plus, step_sizes
  // other than 0 <= least <= largest.
  void check(const char* op, const Where& where) const;
};

// Each element has a step size s, lr at first:
// s = clamp(s etaplus) if g prev > 0, clamp(s etaminus) if g prev < 0, else clamp(s); g = 0 if
// g prev < 0; p -= s sign(g); prev = g. Only signs of gradients matter, so it wants whole batches.
// A gradient that is NaN makes its parameter NaN, where PyTorch takes it for 0.
struct RpropRule {
  // These are what GroupOptimizer reads: see trainer/optim/group_optimizer.h.
  using Coefficients = RpropCoefficients;
  static constexpr const char* kName = "rprop";
  static constexpr const char* kBuffers[] = {"prev", "step_size"};
  static bool uses(const RpropOptions&, size_t) { return true; }
  static double initial(const RpropOptions& o, size_t buffer) { return buffer == 1 ? o.lr : 0; }
  static Coefficients prepare(const RpropOptions& o, ParamState& state, bool fresh);
  static constexpr auto kLoop = rprop_loop;
};
extern template class GroupOptimizer<RpropOptions, RpropRule>;

// torch.optim.Rprop: resilient backpropagation (Riedmiller and Braun, 1993).
class Rprop : public GroupOptimizer<RpropOptions, RpropRule> {
 public:
  using GroupOptimizer::GroupOptimizer;
};

}  // namespace wick::optim
