// RMSprop (Tieleman and Hinton 2012; Graves 2013 centered; torch.optim.RMSprop).
#pragma once

#include "trainer/optim/group_optimizer.h"

namespace wick::optim {

struct RMSpropOptions {
  double lr = 1e-2;
  double alpha = 0.99;
  double eps = 1e-8;
  double weight_decay = 0;
  double momentum = 0;
  bool centered = false;
  bool maximize = false;

  template <class F>
  void fields(F&& f) {
    f("lr", lr), f("alpha", alpha), f("eps", eps);
    f("weight_decay", weight_decay), f("momentum", momentum), f("centered", centered);
    f("maximize", maximize);
  }
  void check(const char* op, const Where& where) const;
};

// s = alpha s + (1 - alpha) g^2. If centered, a = alpha a + (1 - alpha) g, and s - a^2 replaces s
// in d = g / (sqrt(s) + eps). With momentum b = momentum b + d and p -= lr b, else p -= lr d.
struct RMSpropRule {
  using Options = RMSpropOptions;
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

class RMSprop : public GroupOptimizer<RMSpropOptions, RMSpropRule> {
 public:
  using GroupOptimizer::GroupOptimizer;
};

}  // namespace wick::optim
