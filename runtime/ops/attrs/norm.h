// Attributes of normalization.
#pragma once

#include "runtime/ops/attrs/attr.h"

namespace wick {

struct BatchNormAttrs {
  double epsilon = 1e-5;
};
WICK_ATTR_FIELDS(BatchNormAttrs, WICK_FIELD(BatchNormAttrs, 1, epsilon));

struct LayerNormGradAttrs {
  int64_t row_dims = 1;  // the last dims, over which is normalized
  double epsilon = 1e-5;
};
WICK_ATTR_FIELDS(LayerNormGradAttrs, WICK_FIELD(LayerNormGradAttrs, 1, row_dims),
                 WICK_FIELD(LayerNormGradAttrs, 2, epsilon));

struct GroupNormGradAttrs {
  int64_t groups = 1;  // of neighbouring channels
  double epsilon = 1e-5;
};
WICK_ATTR_FIELDS(GroupNormGradAttrs, WICK_FIELD(GroupNormGradAttrs, 1, groups),
                 WICK_FIELD(GroupNormGradAttrs, 2, epsilon));

}  // namespace wick
