#include "trainer/optim/adamax.h"

#include <cmath>

#include "trainer/optim/integer_power.h"
#include "trainer/optim/own_optimizer.h"

namespace wick::optim {

void AdamaxOptions::check(const char* op, const Where& where) const {
  check_not_negative(op, "lr", lr, where);
  check_not_negative(op, "eps", eps, where);
  check_fraction(op, "beta1", beta1, where);
  check_fraction(op, "beta2", beta2, where);
  check_not_negative(op, "weight_decay", weight_decay, where);
}

AdamaxCoefficients AdamaxRule::prepare(const AdamaxOptions& o, ParamState& state, bool) {
  return {.sign = o.maximize ? -1.0 : 1.0,
          .weight_decay = o.weight_decay,
          .beta1 = o.beta1,
          .beta2 = o.beta2,
          .eps = o.eps,
          .rate = o.lr / (1 - integer_power(o.beta1, state.step))};
}

template class GroupOptimizer<AdamaxOptions, AdamaxRule>;

}  // namespace wick::optim
