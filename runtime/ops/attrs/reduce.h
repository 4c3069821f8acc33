// Attributes of reductions.
#pragma once

#include "runtime/ops/attrs/attr.h"

namespace wick {

struct ReduceAttrs {
  DimList axes;  // empty: all
  int64_t keepdims = 1;
  int64_t noop_with_empty_axes = 0;
};
WICK_ATTR_FIELDS(ReduceAttrs, WICK_FIELD(ReduceAttrs, 1, axes),
                 WICK_FIELD(ReduceAttrs, 2, keepdims),
                 WICK_FIELD(ReduceAttrs, 3, noop_with_empty_axes));

struct ArgAttrs {
  int64_t axis = 0, keepdims = 1, select_last_index = 0;
};
WICK_ATTR_FIELDS(ArgAttrs, WICK_FIELD(ArgAttrs, 1, axis), WICK_FIELD(ArgAttrs, 2, keepdims),
                 WICK_FIELD(ArgAttrs, 3, select_last_index));

}  // namespace wick
