// Attributes of views beyond slice and transpose.
#pragma once

#include "runtime/ops/attrs/attr.h"

namespace wick {

struct StridedAttrs {
  DimList sizes, strides;  // strides may be negative or 0
  int64_t offset = 0;      // in elements
};
WICK_ATTR_FIELDS(StridedAttrs, WICK_FIELD(StridedAttrs, 1, sizes),
                 WICK_FIELD(StridedAttrs, 2, strides), WICK_FIELD(StridedAttrs, 3, offset));

}  // namespace wick
