// Muon: momentum, orthogonalised (Jordan et al. 2024, "Muon: an optimizer for hidden layers in
// neural networks"). For the weight matrices of hidden layers; vectors, embeddings and the last
// layer want AdamW in an optimizer of their own.
#pragma once

#include "trainer/optim/group_optimizer.h"

namespace wick::optim {

struct MuonOptions {
  double lr = 0.02;
  double momentum = 0.95;
  bool nesterov = true;
  double weight_decay = 0;
  int64_t ns_steps = 5;  // 0: the momentum scaled to norm 1

  template <class F>
  void fields(F&& f) {
    f("lr", lr), f("momentum", momentum), f("nesterov", nesterov);
    f("weight_decay", weight_decay), f("ns_steps", ns_steps);
  }
  void check(const char* op, const Where& where) const;
};

// About the nearest matrix with orthonormal rows or columns, whichever are fewer: `steps` of
// X <- a X + (b A + c A^2) X, A = X X^T, from X of norm 1, with (a, b, c) = (3.4445,
// -4.7750, 2.0315), which take singular values into about [0.7, 1.2].
Tensor newton_schulz(const Tensor& matrix, int64_t steps = 5);

// b += (1 - momentum) (g - b); u = b, or with nesterov g + momentum (b - g); O = newton_schulz(u);
// p = p (1 - lr weight_decay) - lr sqrt(max(1, rows / columns)) O. Computed in the parameter's type
// (the reference computes O in bfloat16). A parameter that is no matrix is an Error.
struct MuonRule {
  using Options = MuonOptions;
  static constexpr const char* kName = "muon";
  static constexpr const char* kBuffers[] = {"momentum_buffer"};
  static bool uses(const MuonOptions&, size_t) { return true; }
  static void check_param(const Tensor& p, const Where& where);
  static void apply(const MuonOptions& o, const Tensor& p, const Tensor& g, ParamState& state);
};
extern template class GroupOptimizer<MuonOptions, MuonRule>;

class Muon : public GroupOptimizer<MuonOptions, MuonRule> {
 public:
  using GroupOptimizer::GroupOptimizer;
};

}  // namespace wick::optim
