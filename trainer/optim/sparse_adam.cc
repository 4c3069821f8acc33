#include "trainer/optim/sparse_adam.h"

#include <cmath>

#include "trainer/optim/integer_power.h"
#include "trainer/optim/own_optimizer.h"

namespace wick::optim {

void SparseAdamOptions::check(const char* op, const Where& where) const {
  check_not_negative(op, "lr", lr, where);
  check_not_negative(op, "eps", eps, where);
  check_fraction(op, "beta1", beta1, where);
  check_fraction(op, "beta2", beta2, where);
}

void SparseAdamRule::apply_rows(const SparseAdamOptions& o, const Tensor& p, const SparseGrad& g,
                                ParamState& state) {
  const double root2 = std::sqrt(1 - integer_power(o.beta2, state.step));
  const double rate = o.lr * root2 / (1 - integer_power(o.beta1, state.step));
  sparse_adam_rows({o.maximize ? -1.0 : 1.0, o.beta1, o.beta2, o.eps, rate}, p, g, state.buffers[0],
                   state.buffers[1]);
}

template class GroupOptimizer<SparseAdamOptions, SparseAdamRule>;

}  // namespace wick::optim
