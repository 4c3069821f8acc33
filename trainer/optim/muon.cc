#include "trainer/optim/muon.h"

#include <cmath>

#include "trainer/optim/own_optimizer.h"
#include "trainer/tensor/ops.h"

namespace wick::optim {

void MuonOptions::check(const char* op, const Where& where) const {
  check_not_negative(op, "lr", lr, where);
  check_fraction(op, "momentum", momentum, where);
  check_not_negative(op, "weight_decay", weight_decay, where);
  if (ns_steps < 0 || ns_steps > 100) {
    throw_error(op, "ns_steps must be in [0, 100], got " + std::to_string(ns_steps), where);
  }
}

Tensor newton_schulz(const Tensor& matrix, int64_t steps) {
  NoGrad guard;
  const bool tall = matrix.raw_shape()[0] > matrix.raw_shape()[1];
  Tensor x = (tall ? matrix.t() : matrix).detach().contiguous();
  x = x / (sqrt(sum(x * x)) + 1e-7);
  for (int64_t i = 0; i < steps; ++i) {
    const Tensor a = matmul(x, x.t());
    const Tensor b = a * -4.7750 + matmul(a, a) * 2.0315;
    x = x * 3.4445 + matmul(b, x);
  }
  return tall ? x.t().contiguous() : x;
}

void MuonRule::check_param(const Tensor& p, const Where& where) {
  if (p.rank() == 2 && p.layout().numel() > 0) return;
  throw_error(kName,
              (p.name().empty() ? "a parameter" : "parameter '" + p.name() + "'") + " is " +
                  to_text(p.raw_shape()).text +
                  ", no matrix: give vectors, convolutions, embeddings and the last layer to AdamW "
                  "in an optimizer of its own",
              where);
}

void MuonRule::apply(const MuonOptions& o, const Tensor& p, const Tensor& g, ParamState& state) {
  const Tensor& b = state.buffers[0];
  b.add_(g - b, 1 - o.momentum);
  const Tensor u = newton_schulz(o.nesterov ? g + (b - g) * o.momentum : b, o.ns_steps);
  const double ratio =
      static_cast<double>(p.raw_shape()[0]) / static_cast<double>(p.raw_shape()[1]);
  if (o.weight_decay != 0) p.mul_(1 - o.lr * o.weight_decay);
  p.add_(u, -o.lr * std::sqrt(std::max(1.0, ratio)));
}

template class GroupOptimizer<MuonOptions, MuonRule>;

}  // namespace wick::optim
