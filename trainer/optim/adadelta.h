// Adadelta (Zeiler 2012; torch.optim.Adadelta).
#pragma once

#include "trainer/optim/group_optimizer.h"

namespace wick::optim {

struct AdadeltaOptions {
  double lr = 1.0;
  double rho = 0.9;
  double eps = 1e-6;
  double weight_decay = 0;
  bool maximize = false;

  template <class F>
  void fields(F&& f) {
    f("lr", lr), f("rho", rho), f("eps", eps);
    f("weight_decay", weight_decay), f("maximize", maximize);
  }
  void check(const char* op, const Where& where) const;
};

// s = rho s + (1 - rho) g^2; d = sqrt(a + eps) / sqrt(s + eps) g; a = rho a + (1 - rho) d^2;
// p -= lr d
struct AdadeltaRule {
  using Options = AdadeltaOptions;
  using Coefficients = AdadeltaCoefficients;
  static constexpr const char* kName = "adadelta";
  static constexpr const char* kBuffers[] = {"square_avg", "acc_delta"};
  static bool uses(const AdadeltaOptions&, size_t) { return true; }
  static Coefficients prepare(const AdadeltaOptions& o, ParamState& state, bool fresh);
  static constexpr auto kLoop = adadelta_loop;
};
extern template class GroupOptimizer<AdadeltaOptions, AdadeltaRule>;

class Adadelta : public GroupOptimizer<AdadeltaOptions, AdadeltaRule> {
 public:
  using GroupOptimizer::GroupOptimizer;
};

}  // namespace wick::optim
