// Adam for sparse gradients (torch.optim.SparseAdam): the means of a row move only in the steps in
// which the row has a gradient.
#pragma once

#include "trainer/optim/group_optimizer.h"

namespace wick::optim {

// Options of SparseAdam, with the defaults of torch.optim.SparseAdam.
struct SparseAdamOptions {
  double lr = 1e-3;       // learning rate
  double beta1 = 0.9;     // decay of the mean of gradients
  double beta2 = 0.999;   // decay of the mean of their squares
  double eps = 1e-8;      // added to the root
  bool maximize = false;  // follows the gradient upwards

  // Calls f(name, field) for each option; state_dict() and load_state_dict() use it.
  template <class F>
  void fields(F&& f) {
    f("lr", lr), f("beta1", beta1), f("beta2", beta2), f("eps", eps), f("maximize", maximize);
  }
  // Throws Error for a number that is negative or not finite, and for betas outside of [0, 1).
  void check(const char* op, const Where& where) const;
};

// For the rows that have a gradient: m += (1 - beta1) (g - m); v += (1 - beta2) (g^2 - v); p -= lr
// sqrt(1 - beta2^t) / (1 - beta1^t) m / (sqrt(v) + eps), where t counts the parameter's steps.
struct SparseAdamRule {
  // These are what GroupOptimizer reads: see trainer/optim/group_optimizer.h.
  static constexpr const char* kName = "sparse_adam";
  static constexpr const char* kBuffers[] = {"exp_avg", "exp_avg_sq"};
  static constexpr bool kRowsOnly = true;
  static void apply_rows(const SparseAdamOptions& o, const Tensor& p, const SparseGrad& g,
                         ParamState& state);
};
extern template class GroupOptimizer<SparseAdamOptions, SparseAdamRule>;

// torch.optim.SparseAdam: for tables of nn::Embedding with sparse = true. A dense gradient is an
// Error. SparseAdamRule has the formulas.
class SparseAdam : public GroupOptimizer<SparseAdamOptions, SparseAdamRule> {
 public:
  using GroupOptimizer::GroupOptimizer;
};

}  // namespace wick::optim
