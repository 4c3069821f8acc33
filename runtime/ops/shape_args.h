// ShapeArgs: the integers that say how an op works (axes, bounds, pads, block sizes), resolved by
// its shape rule, whether they are attributes or inputs of any integer dtype. The rule checks and
// resolves them once; kernels and lowerings use these and never read the inputs themselves, so no
// two readers can disagree about what a file says.
#pragma once

#include "runtime/core/tensor_view.h"
#include "runtime/ops/op_id.h"
#include "runtime/ops/resize_scale.h"

namespace wick {

struct ReducedAxes {  // the Reduce ops
  bool set[kMaxRank];
};
// Slice. Element k along an output axis is element start + k * step of the input's axis; the
// output's shape gives their number.
struct SliceRanges {
  int64_t start[kMaxRank], step[kMaxRank];
};
struct PadSizes {  // Pad: elements before each axis, negative where it crops
  int64_t before[kMaxRank];
};
struct ResizeScales {  // Resize, by axis of the input
  Ratio scale[kMaxRank];
  int8_t region[kMaxRank];  // index of the axis' start in the region of interest; -1: not resized
};
struct DftLine {  // DFT: the axis is cropped or zero-padded to the length
  int axis;
  int64_t length;
};
struct BlockExtents {  // Col2Im
  int64_t extent[6];
};
struct RangeSteps {  // Range
  int64_t start, step;
};
struct OneNumber {  // CumSum's and CumProd's axis, >= 0; Trilu's k; NonMaxSuppression's most a
                    // class
  int64_t value;
};

struct ShapeArgs {
  ShapeArgs() {}  // NOLINT: each rule sets only the member of its op
  union {
    ReducedAxes reduce;
    SliceRanges slice;
    PadSizes pad;
    ResizeScales resize;
    DftLine dft;
    BlockExtents blocks;
    RangeSteps range;
    OneNumber number;
  };
};

// For ops with has_shape_args() (op_info.h): runs the op's rule again over the values in `in`.
// Returns kNeedsValue where one of them is unknown, or any error of the rule.
Status resolve_shape_args(OpId op, const void* attrs, Span<const TensorView> in, ShapeArgs* args);

}  // namespace wick
