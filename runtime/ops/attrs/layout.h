// Attributes of ops that move elements.
#pragma once

#include "runtime/ops/attrs/attr.h"

namespace wick {

struct AxisAttrs {
  int64_t axis = -1;
};  // a negative axis counts from the end
WICK_ATTR_FIELDS(AxisAttrs, WICK_FIELD(AxisAttrs, 1, axis));

struct AxesAttrs {
  DimList axes;
};  // empty: Squeeze drops every dim of extent 1
WICK_ATTR_FIELDS(AxesAttrs, WICK_FIELD(AxesAttrs, 1, axes));

struct ReshapeAttrs {
  DimList shape;  // -1: inferred; 0: copied from x's dim unless allowzero
  int64_t allowzero = 0;
};
WICK_ATTR_FIELDS(ReshapeAttrs, WICK_FIELD(ReshapeAttrs, 1, shape),
                 WICK_FIELD(ReshapeAttrs, 2, allowzero));

struct TransposeAttrs {
  DimList perm;
};  // empty: reversed
WICK_ATTR_FIELDS(TransposeAttrs, WICK_FIELD(TransposeAttrs, 1, perm));

struct ShapeAttrs {
  DimList shape;
};
WICK_ATTR_FIELDS(ShapeAttrs, WICK_FIELD(ShapeAttrs, 1, shape));

struct SplitAttrs {
  int64_t axis = 0;
  IntList<64> sizes;        // empty: equal parts, the last one smaller
  int64_t num_outputs = 0;  // 0: as many as the call has
};
WICK_ATTR_FIELDS(SplitAttrs, WICK_FIELD(SplitAttrs, 1, axis), WICK_FIELD(SplitAttrs, 2, sizes),
                 WICK_FIELD(SplitAttrs, 3, num_outputs));

struct SliceAttrs {
  DimList starts, ends, axes, steps;
};
WICK_ATTR_FIELDS(SliceAttrs, WICK_FIELD(SliceAttrs, 1, starts), WICK_FIELD(SliceAttrs, 2, ends),
                 WICK_FIELD(SliceAttrs, 3, axes), WICK_FIELD(SliceAttrs, 4, steps));

enum class PadMode : int64_t { kConstant = 0, kReflect = 1, kEdge = 2, kWrap = 3 };
struct PadAttrs {
  IntList<16> pads;  // all begins, then all ends; may be negative
  int64_t mode = 0;  // a PadMode
  double value = 0;
  DimList axes;  // empty: all
};
WICK_ATTR_FIELDS(PadAttrs, WICK_FIELD(PadAttrs, 1, pads),
                 WICK_FIELD(PadAttrs, 2, mode).up_to(PadMode::kWrap),
                 WICK_FIELD(PadAttrs, 3, value), WICK_FIELD(PadAttrs, 4, axes));

struct ShapeOpAttrs {
  int64_t start = 0, end = INT64_MAX;
};
WICK_ATTR_FIELDS(ShapeOpAttrs, WICK_FIELD(ShapeOpAttrs, 1, start),
                 WICK_FIELD(ShapeOpAttrs, 2, end));

}  // namespace wick
