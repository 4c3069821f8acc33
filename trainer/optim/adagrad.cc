#include "trainer/optim/adagrad.h"

#include <cmath>

#include "trainer/optim/own_optimizer.h"

namespace wick::optim {

void AdagradOptions::check(const char* op, const Where& where) const {
  check_not_negative(op, "lr", lr, where);
  check_not_negative(op, "eps", eps, where);
  check_not_negative(op, "weight_decay", weight_decay, where);
  check_not_negative(op, "lr_decay", lr_decay, where);
  check_not_negative(op, "initial_accumulator_value", initial_accumulator_value, where);
}

AdagradCoefficients AdagradRule::prepare(const AdagradOptions& o, ParamState& state, bool) {
  return {.sign = o.maximize ? -1.0 : 1.0,
          .weight_decay = o.weight_decay,
          .eps = o.eps,
          .rate = o.lr / (1 + static_cast<double>(state.step - 1) * o.lr_decay)};
}

void AdagradRule::check_rows(const AdagradOptions& o, const Tensor& p) {
  if (o.weight_decay != 0) no_option_of_rows(kName, "weight_decay", p);
}
void AdagradRule::apply_rows(const AdagradOptions& o, const Tensor& p, const SparseGrad& g,
                             ParamState& state) {
  const AdagradCoefficients c = prepare(o, state, false);
  adagrad_rows(c.sign, c.rate, c.eps, p, g, state.buffers[0]);
}

template class GroupOptimizer<AdagradOptions, AdagradRule>;

}  // namespace wick::optim
