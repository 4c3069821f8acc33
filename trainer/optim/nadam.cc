#include "trainer/optim/nadam.h"

#include <cmath>

#include "trainer/optim/integer_power.h"
#include "trainer/optim/own_optimizer.h"

namespace wick::optim {

void NAdamOptions::check(const char* op, const Where& where) const {
  check_not_negative(op, "lr", lr, where);
  check_not_negative(op, "eps", eps, where);
  check_fraction(op, "beta1", beta1, where);
  check_fraction(op, "beta2", beta2, where);
  check_not_negative(op, "weight_decay", weight_decay, where);
  check_not_negative(op, "momentum_decay", momentum_decay, where);
}

NadamCoefficients NAdamRule::prepare(const NAdamOptions& o, ParamState& state, bool) {
  const auto t = static_cast<double>(state.step);
  const double mu = o.beta1 * (1 - 0.5 * std::pow(0.96, t * o.momentum_decay));
  const double mu_next = o.beta1 * (1 - 0.5 * std::pow(0.96, (t + 1) * o.momentum_decay));
  double& product = state.numbers[0];
  product *= mu;
  const double product_next = product * mu * mu_next;
  return {.weight_decay = o.weight_decay,
          .beta1 = o.beta1,
          .beta2 = o.beta2,
          .eps = o.eps,
          .correction2 = 1 - integer_power(o.beta2, state.step),
          .rate_grad = o.lr * (1 - mu) / (1 - product),
          .rate_avg = o.lr * mu_next / (1 - product_next)};
}

template class GroupOptimizer<NAdamOptions, NAdamRule>;

}  // namespace wick::optim
