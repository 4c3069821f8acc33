// Attributes of pooling.
#pragma once

#include "runtime/ops/attrs/attr.h"

namespace wick {

struct PoolAttrs {
  IntList<3> kernel_shape;  // required; its length is the number of spatial dims
  IntList<3> strides, dilations;
  IntList<6> pads;
  int64_t ceil_mode = 0;
  int64_t count_include_pad = 0;  // for AveragePool
};
WICK_ATTR_FIELDS(PoolAttrs, WICK_FIELD(PoolAttrs, 1, kernel_shape),
                 WICK_FIELD(PoolAttrs, 2, strides), WICK_FIELD(PoolAttrs, 3, dilations),
                 WICK_FIELD(PoolAttrs, 4, pads), WICK_FIELD(PoolAttrs, 5, ceil_mode),
                 WICK_FIELD(PoolAttrs, 6, count_include_pad));

}  // namespace wick
