// Attributes of nodes with regions, and of ops whose sizes depend on values.
#pragma once

#include "runtime/ops/attrs/attr.h"

namespace wick {

struct LoopAttrs {
  int64_t carried = 0;  // number of values carried from one trip to the next
};
WICK_ATTR_FIELDS(LoopAttrs, WICK_FIELD(LoopAttrs, 1, carried));

struct NmsAttrs {
  int64_t center_point_box = 0;  // 0: boxes are y1 x1 y2 x2 (two corners), 1: x y width height
};
WICK_ATTR_FIELDS(NmsAttrs, WICK_FIELD(NmsAttrs, 1, center_point_box));

}  // namespace wick
