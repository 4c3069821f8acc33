#include "trainer/optim/rmsprop.h"

#include <cmath>

#include "trainer/optim/own_optimizer.h"

namespace wick::optim {

void RMSpropOptions::check(const char* op, const Where& where) const {
  check_not_negative(op, "lr", lr, where);
  check_not_negative(op, "eps", eps, where);
  check_not_negative(op, "momentum", momentum, where);
  check_not_negative(op, "alpha", alpha, where);
  check_not_negative(op, "weight_decay", weight_decay, where);
}

RmspropCoefficients RMSpropRule::prepare(const RMSpropOptions& o, ParamState&, bool) {
  return {.sign = o.maximize ? -1.0 : 1.0,
          .weight_decay = o.weight_decay,
          .alpha = o.alpha,
          .eps = o.eps,
          .momentum = o.momentum,
          .lr = o.lr};
}

template class GroupOptimizer<RMSpropOptions, RMSpropRule>;

}  // namespace wick::optim
