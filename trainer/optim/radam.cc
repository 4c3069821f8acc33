#include "trainer/optim/radam.h"

#include <cmath>

#include "trainer/optim/integer_power.h"
#include "trainer/optim/own_optimizer.h"

namespace wick::optim {

void RAdamOptions::check(const char* op, const Where& where) const {
  check_not_negative(op, "lr", lr, where);
  check_not_negative(op, "eps", eps, where);
  check_fraction(op, "beta1", beta1, where);
  check_fraction(op, "beta2", beta2, where);
  check_not_negative(op, "weight_decay", weight_decay, where);
}

RadamCoefficients RAdamRule::prepare(const RAdamOptions& o, ParamState& state, bool) {
  const double power2 = integer_power(o.beta2, state.step);
  const double correction2 = 1 - power2;
  const double rho = 2 / (1 - o.beta2) - 1;
  const double rho_t = rho - 2 * static_cast<double>(state.step) * power2 / correction2;
  const double rect =
      rho_t > 5 ? std::sqrt((rho_t - 4) * (rho_t - 2) * rho / ((rho - 4) * (rho - 2) * rho_t)) : 0;
  return {.weight_decay = o.weight_decay,
          .beta1 = o.beta1,
          .beta2 = o.beta2,
          .eps = o.eps,
          .correction1 = 1 - integer_power(o.beta1, state.step),
          .lr = o.lr,
          .root2 = std::sqrt(correction2),
          .rect = rect};
}

template class GroupOptimizer<RAdamOptions, RAdamRule>;

}  // namespace wick::optim
