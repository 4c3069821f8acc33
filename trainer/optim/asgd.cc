#include "trainer/optim/asgd.h"

#include <algorithm>
#include <cmath>

#include "trainer/optim/own_optimizer.h"

namespace wick::optim {

void AsgdOptions::check(const char* op, const Where& where) const {
  check_not_negative(op, "lr", lr, where);
  check_not_negative(op, "lambd", lambd, where);
  check_not_negative(op, "alpha", alpha, where);
  check_not_negative(op, "t0", t0, where);
  check_not_negative(op, "weight_decay", weight_decay, where);
}

AsgdCoefficients AsgdRule::prepare(const AsgdOptions& o, ParamState& state, bool) {
  double &eta = state.numbers[0], &mu = state.numbers[1];
  if (state.step == 1) eta = o.lr, mu = 1;
  const AsgdCoefficients now = {.sign = o.maximize ? -1.0 : 1.0,
                                .weight_decay = o.weight_decay,
                                .shrink = 1 - o.lambd * eta,
                                .eta = eta,
                                .mu = mu};
  const auto t = static_cast<double>(state.step);
  eta = o.lr / std::pow(1 + o.lambd * o.lr * t, o.alpha);
  mu = 1 / std::max(1.0, t - o.t0);
  return now;
}

template class GroupOptimizer<AsgdOptions, AsgdRule>;

}  // namespace wick::optim
