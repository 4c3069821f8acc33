// Adadelta (Zeiler 2012; torch.optim.Adadelta).
#pragma once

#include "trainer/optim/group_optimizer.h"

namespace wick::optim {

// Options of Adadelta, with the defaults of torch.optim.Adadelta.
struct AdadeltaOptions {
  double lr = 1.0;          // learning rate: the factor of the update
  double rho = 0.9;         // decay of the running means, in [0, 1]
  double eps = 1e-6;        // added under the roots
  double weight_decay = 0;  // added to the gradient, times the parameter
  bool maximize = false;    // follows the gradient upwards

  // Calls f(name, field) for each option; state_dict() and load_state_dict() use it.
  template <class F>
  void fields(F&& f) {
    f("lr", lr), f("rho", rho), f("eps", eps);
    f("weight_decay", weight_decay), f("maximize", maximize);
  }
  // Throws Error for a number that is negative or not finite, and for rho outside of [0, 1].
  void check(const char* op, const Where& where) const;
};

// s = rho s + (1 - rho) g^2; d = sqrt(a + eps) / sqrt(s + eps) g; a = rho a + (1 - rho) d^2;
// p -= lr d
struct AdadeltaRule {
  // These are what GroupOptimizer reads: see trainer/optim/group_optimizer.h.
  using Coefficients = AdadeltaCoefficients;
  static constexpr const char* kName = "adadelta";
  static constexpr const char* kBuffers[] = {"square_avg", "acc_delta"};
  static bool uses(const AdadeltaOptions&, size_t) { return true; }
  static Coefficients prepare(const AdadeltaOptions& o, ParamState& state, bool fresh);
  static constexpr auto kLoop = adadelta_loop;
};
extern template class GroupOptimizer<AdadeltaOptions, AdadeltaRule>;

// torch.optim.Adadelta (Zeiler, 2012). AdadeltaRule has the formulas.
class Adadelta : public GroupOptimizer<AdadeltaOptions, AdadeltaRule> {
 public:
  using GroupOptimizer::GroupOptimizer;
};

}  // namespace wick::optim
