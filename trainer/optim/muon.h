// Muon: orthogonalized momentum (Jordan et al. 2024, "Muon: an optimizer for hidden layers in
// neural networks"). It is for the weight matrices of hidden layers; use AdamW in a separate
// optimizer for vectors, embeddings and the last layer.
#pragma once

#include "trainer/optim/group_optimizer.h"

namespace wick::optim {

// Options of Muon.
struct MuonOptions {
  double lr = 0.02;         // learning rate
  double momentum = 0.95;   // decay of the mean of gradients, in [0, 1)
  bool nesterov = true;     // looks one step ahead
  double weight_decay = 0;  // decoupled, as AdamW's
  int64_t ns_steps = 5;     // 0: only scales the momentum to norm 1

  // Calls f(name, field) for each option; state_dict() and load_state_dict() use it.
  template <class F>
  void fields(F&& f) {
    f("lr", lr), f("momentum", momentum), f("nesterov", nesterov);
    f("weight_decay", weight_decay), f("ns_steps", ns_steps);
  }
  // Throws Error for a number that is negative or not finite, a momentum outside of [0, 1), and
  // ns_steps outside of [0, 100].
  void check(const char* op, const Where& where) const;
};

// Returns approximately the nearest matrix with orthonormal rows or columns, whichever are fewer,
// by `steps` of X <- a X + (b A + c A^2) X, A = X X^T, starting with X of norm 1, with (a, b, c) =
// (3.4445, -4.7750, 2.0315), which bring the singular values to about [0.7, 1.2].
Tensor newton_schulz(const Tensor& matrix, int64_t steps = 5);

// b += (1 - momentum) (g - b); u = b, or with nesterov g + momentum (b - g); O = newton_schulz(u);
// p = p (1 - lr weight_decay) - lr sqrt(max(1, rows / columns)) O. Computed in the parameter's
// dtype (the reference computes O in bfloat16). A parameter that is not a matrix throws Error.
struct MuonRule {
  // These are what GroupOptimizer reads: see trainer/optim/group_optimizer.h.
  static constexpr const char* kName = "muon";
  static constexpr const char* kBuffers[] = {"momentum_buffer"};
  static bool uses(const MuonOptions&, size_t) { return true; }
  static void check_param(const Tensor& p, const Where& where);
  static void apply(const MuonOptions& o, const Tensor& p, const Tensor& g, ParamState& state);
};
extern template class GroupOptimizer<MuonOptions, MuonRule>;

// Muon. MuonRule has the formulas. PyTorch 1.13 has no such optimizer.
class Muon : public GroupOptimizer<MuonOptions, MuonRule> {
 public:
  using GroupOptimizer::GroupOptimizer;
};

}  // namespace wick::optim
