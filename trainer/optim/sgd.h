// Stochastic gradient descent (torch.optim.SGD).
#pragma once

#include "trainer/optim/group_optimizer.h"

namespace wick::optim {

// Options of SGD. The default rate is 1e-3, as in newer PyTorch; in PyTorch 1.13 it has none.
struct SgdOptions {
  double lr = 1e-3;         // learning rate
  double momentum = 0;      // decay of the buffer of gradients; 0: no buffer
  double dampening = 0;     // 1 - the weight of a new gradient in the buffer
  double weight_decay = 0;  // added to the gradient, times the parameter
  bool nesterov = false;    // looks one step ahead; needs momentum without dampening
  bool maximize = false;    // follows the gradient upwards

  // Calls f(name, field) for each option; state_dict() and load_state_dict() use it.
  template <class F>
  void fields(F&& f) {
    f("lr", lr), f("momentum", momentum), f("dampening", dampening);
    f("weight_decay", weight_decay), f("nesterov", nesterov), f("maximize", maximize);
  }
  // Throws Error for a number that is negative or not finite, and for nesterov without momentum or
  // with dampening.
  void check(const char* op, const Where& where) const;
};

// g += weight_decay p; b = g in the first step, then momentum b + (1 - dampening) g. p -= lr g;
// with momentum p -= lr b, or with nesterov p -= lr (g + momentum b). A sparse gradient goes with
// neither momentum nor weight_decay.
struct SgdRule {
  // These are what GroupOptimizer reads: see trainer/optim/group_optimizer.h.
  using Coefficients = SgdCoefficients;
  static constexpr const char* kName = "sgd";
  static constexpr const char* kBuffers[] = {"momentum_buffer"};
  static bool uses(const SgdOptions& o, size_t) { return o.momentum != 0; }
  static Coefficients prepare(const SgdOptions& o, ParamState& state, bool fresh);
  static constexpr auto kLoop = sgd_loop;
  static void check_rows(const SgdOptions& o, const Tensor& p);
  static void apply_rows(const SgdOptions& o, const Tensor& p, const SparseGrad& g, ParamState&);
};
extern template class GroupOptimizer<SgdOptions, SgdRule>;

// torch.optim.SGD, with momentum and Nesterov's form of it. SgdRule has the formulas.
class SGD : public GroupOptimizer<SgdOptions, SgdRule> {
 public:
  using GroupOptimizer::GroupOptimizer;
};

}  // namespace wick::optim
