#include "trainer/optim/lion.h"

#include <cmath>

#include "trainer/optim/own_optimizer.h"

namespace wick::optim {

void LionOptions::check(const char* op, const Where& where) const {
  check_not_negative(op, "lr", lr, where);
  check_fraction(op, "beta1", beta1, where);
  check_fraction(op, "beta2", beta2, where);
  check_not_negative(op, "weight_decay", weight_decay, where);
}

LionCoefficients LionRule::prepare(const LionOptions& o, ParamState&, bool) {
  return {.sign = o.maximize ? -1.0 : 1.0,
          .shrink = 1 - o.lr * o.weight_decay,
          .beta1 = o.beta1,
          .beta2 = o.beta2,
          .lr = o.lr};
}

template class GroupOptimizer<LionOptions, LionRule>;

}  // namespace wick::optim
