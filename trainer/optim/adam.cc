#include "trainer/optim/adam.h"

#include <cmath>

#include "trainer/optim/integer_power.h"
#include "trainer/optim/own_optimizer.h"

namespace wick::optim {

template <bool kDecoupled>
void AdamOptionsOf<kDecoupled>::check(const char* op, const Where& where) const {
  check_not_negative(op, "lr", lr, where);
  check_not_negative(op, "eps", eps, where);
  check_fraction(op, "beta1", beta1, where);
  check_fraction(op, "beta2", beta2, where);
  check_not_negative(op, "weight_decay", weight_decay, where);
}

template <bool kDecoupled>
AdamCoefficients AdamRule<kDecoupled>::prepare(const Options& o, ParamState& state, bool) {
  return {.sign = o.maximize ? -1.0 : 1.0,
          .weight_decay = kDecoupled ? 0 : o.weight_decay,
          .shrink = kDecoupled ? 1 - o.lr * o.weight_decay : 1,
          .beta1 = o.beta1,
          .beta2 = o.beta2,
          .eps = o.eps,
          .rate = o.lr / (1 - integer_power(o.beta1, state.step)),
          .root2 = std::sqrt(1 - integer_power(o.beta2, state.step))};
}

template struct AdamOptionsOf<false>;
template struct AdamOptionsOf<true>;
template class GroupOptimizer<AdamOptions, AdamRule<false>>;
template class GroupOptimizer<AdamWOptions, AdamRule<true>>;

}  // namespace wick::optim
