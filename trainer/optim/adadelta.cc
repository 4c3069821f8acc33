#include "trainer/optim/adadelta.h"

#include <cmath>

#include "trainer/optim/own_optimizer.h"

namespace wick::optim {

void AdadeltaOptions::check(const char* op, const Where& where) const {
  check_not_negative(op, "lr", lr, where);
  check_not_negative(op, "eps", eps, where);
  if (!(rho >= 0 && rho <= 1)) {
    throw_error(op, "rho must be in [0, 1], got " + std::to_string(rho), where);
  }
  check_not_negative(op, "weight_decay", weight_decay, where);
}

AdadeltaCoefficients AdadeltaRule::prepare(const AdadeltaOptions& o, ParamState&, bool) {
  return {.sign = o.maximize ? -1.0 : 1.0,
          .weight_decay = o.weight_decay,
          .rho = o.rho,
          .eps = o.eps,
          .lr = o.lr};
}

template class GroupOptimizer<AdadeltaOptions, AdadeltaRule>;

}  // namespace wick::optim
