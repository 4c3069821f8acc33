#include "trainer/optim/sgd.h"

#include <cmath>

#include "trainer/optim/own_optimizer.h"

namespace wick::optim {

void SgdOptions::check(const char* op, const Where& where) const {
  check_not_negative(op, "lr", lr, where);
  check_not_negative(op, "momentum", momentum, where);
  check_not_negative(op, "weight_decay", weight_decay, where);
  if (!std::isfinite(dampening)) throw_error(op, "dampening must be finite", where);
  if (nesterov && (momentum <= 0 || dampening != 0)) {
    throw_error(op, "nesterov needs a momentum and no dampening", where);
  }
}

SgdCoefficients SgdRule::prepare(const SgdOptions& o, ParamState&, bool fresh) {
  return {.sign = o.maximize ? -1.0 : 1.0,
          .weight_decay = o.weight_decay,
          .lr = o.lr,
          .momentum = o.momentum,
          .keep = 1 - o.dampening,
          .nesterov = o.nesterov,
          .first = fresh};
}

void SgdRule::check_rows(const SgdOptions& o, const Tensor& p) {
  if (o.momentum != 0) no_option_of_rows(kName, "momentum", p);
  if (o.weight_decay != 0) no_option_of_rows(kName, "weight_decay", p);
}
void SgdRule::apply_rows(const SgdOptions& o, const Tensor& p, const SparseGrad& g, ParamState&) {
  sgd_rows(o.maximize ? -o.lr : o.lr, p, g);
}

template class GroupOptimizer<SgdOptions, SgdRule>;

}  // namespace wick::optim
