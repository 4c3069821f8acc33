// Adagrad (Duchi et al. 2011; torch.optim.Adagrad).
#pragma once

#include "trainer/optim/group_optimizer.h"

namespace wick::optim {

// Options of Adagrad, with the defaults of torch.optim.Adagrad.
struct AdagradOptions {
  double lr = 1e-2;                      // learning rate
  double lr_decay = 0;                   // the rate at step t is lr / (1 + (t - 1) lr_decay)
  double weight_decay = 0;               // added to the gradient, times the parameter
  double initial_accumulator_value = 0;  // where the sums of squares start
  double eps = 1e-10;                    // added to the root
  bool maximize = false;                 // follows the gradient upwards

  // Calls f(name, field) for each option; state_dict() and load_state_dict() use it.
  template <class F>
  void fields(F&& f) {
    f("lr", lr), f("lr_decay", lr_decay), f("weight_decay", weight_decay);
    f("initial_accumulator_value", initial_accumulator_value), f("eps", eps),
        f("maximize", maximize);
  }
  // Throws Error for a number that is negative or not finite.
  void check(const char* op, const Where& where) const;
};

// sum += g^2; p -= lr / (1 + (t - 1) lr_decay) g / (sqrt(sum) + eps). A sparse gradient does not go
// with weight_decay.
struct AdagradRule {
  // These are what GroupOptimizer reads: see trainer/optim/group_optimizer.h.
  using Coefficients = AdagradCoefficients;
  static constexpr const char* kName = "adagrad";
  static constexpr const char* kBuffers[] = {"sum"};
  static bool uses(const AdagradOptions&, size_t) { return true; }
  static Coefficients prepare(const AdagradOptions& o, ParamState& state, bool fresh);
  static constexpr auto kLoop = adagrad_loop;
  static void check_rows(const AdagradOptions& o, const Tensor& p);
  static void apply_rows(const AdagradOptions& o, const Tensor& p, const SparseGrad& g,
                         ParamState& state);
  static double initial(const AdagradOptions& o, size_t) { return o.initial_accumulator_value; }
};
extern template class GroupOptimizer<AdagradOptions, AdagradRule>;

// torch.optim.Adagrad (Duchi et al., 2011). AdagradRule has the formulas.
class Adagrad : public GroupOptimizer<AdagradOptions, AdagradRule> {
 public:
  using GroupOptimizer::GroupOptimizer;
};

}  // namespace wick::optim
