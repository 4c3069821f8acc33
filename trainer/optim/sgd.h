// Stochastic gradient descent (torch.optim.SGD).
#pragma once

#include "trainer/optim/group_optimizer.h"

namespace wick::optim {

struct SgdOptions {
  double lr = 1e-3;
  double momentum = 0;
  double dampening = 0;
  double weight_decay = 0;
  bool nesterov = false;
  bool maximize = false;

  template <class F>
  void fields(F&& f) {
    f("lr", lr), f("momentum", momentum), f("dampening", dampening);
    f("weight_decay", weight_decay), f("nesterov", nesterov), f("maximize", maximize);
  }
  void check(const char* op, const Where& where) const;
};

// g += weight_decay p; b = g in the first step, then momentum b + (1 - dampening) g. p -= lr g;
// with momentum p -= lr b, or with nesterov p -= lr (g + momentum b).
struct SgdRule {
  using Options = SgdOptions;
  using Coefficients = SgdCoefficients;
  static constexpr const char* kName = "sgd";
  static constexpr const char* kBuffers[] = {"momentum_buffer"};
  static bool uses(const SgdOptions& o, size_t) { return o.momentum != 0; }
  static Coefficients prepare(const SgdOptions& o, ParamState& state, bool fresh);
  static constexpr auto kLoop = sgd_loop;
};
extern template class GroupOptimizer<SgdOptions, SgdRule>;

class SGD : public GroupOptimizer<SgdOptions, SgdRule> {
 public:
  using GroupOptimizer::GroupOptimizer;
};

}  // namespace wick::optim
