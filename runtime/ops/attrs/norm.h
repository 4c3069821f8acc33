// Attributes of normalization.
#pragma once

#include "runtime/ops/attrs/attr.h"

namespace wick {

struct BatchNormAttrs {
  double epsilon = 1e-5;
};
WICK_ATTR_FIELDS(BatchNormAttrs, WICK_FIELD(BatchNormAttrs, 1, epsilon));

}  // namespace wick
