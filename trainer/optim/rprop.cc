#include "trainer/optim/rprop.h"

#include <fmt/core.h>

#include <cmath>

#include "trainer/optim/own_optimizer.h"

namespace wick::optim {

void RpropOptions::check(const char* op, const Where& where) const {
  check_not_negative(op, "lr", lr, where);
  const auto [minus, plus] = etas;
  if (!(minus > 0 && minus < 1 && plus > 1 && std::isfinite(plus))) {
    throw_error(op, fmt::format("etas must be 0 < minus < 1 < plus, got {}, {}", minus, plus),
                where);
  }
  const auto [least, largest] = step_sizes;
  if (!(least >= 0 && least <= largest && std::isfinite(largest))) {
    throw_error(op,
                fmt::format("step_sizes must be 0 <= least <= largest, got {}, {}", least, largest),
                where);
  }
}

RpropCoefficients RpropRule::prepare(const RpropOptions& o, ParamState&, bool) {
  return {.sign = o.maximize ? -1.0 : 1.0,
          .etaminus = o.etas.first,
          .etaplus = o.etas.second,
          .step_size_min = o.step_sizes.first,
          .step_size_max = o.step_sizes.second};
}

template class GroupOptimizer<RpropOptions, RpropRule>;

}  // namespace wick::optim
