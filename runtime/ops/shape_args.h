// What a shape rule made of the integers that say how an op works: axes, bounds, pads, block sizes,
// be they attributes or inputs of any integer dtype. The rule checks and resolves them once;
// kernels and lowerings take these and never look at the inputs themselves, so no two readers can
// disagree about what a file says.
#pragma once

#include "runtime/core/tensor_view.h"
#include "runtime/ops/op_id.h"
#include "runtime/ops/resize_scale.h"

namespace wick {

struct ReducedAxes {  // ReduceSum and its kin
  bool set[kMaxRank];
};
// Slice. Element k of an output's axis is element start + k * step of the input's; the output's
// shape says how many there are.
struct SliceRanges {
  int64_t start[kMaxRank], step[kMaxRank];
};
struct PadSizes {  // Pad: elements before each axis, negative where some are cut off
  int64_t before[kMaxRank];
};
struct ResizeScales {  // Resize, by axis of the input
  Ratio scale[kMaxRank];
  int8_t region[kMaxRank];  // which start of the region of interest is this axis's; -1: not resized
};
struct DftLine {  // DFT: elements are cut off, or zeros are added, up to the length
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
  ShapeArgs() {}  // NOLINT: the rule that is given one sets its op's member
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

// Of an op that has them (has_shape_args() in op_info.h).
// The op's rule once more, over the values that `in` holds. kNeedsValue where one of them is not
// known; any error of the rule's.
Status resolve_shape_args(OpId op, const void* attrs, Span<const TensorView> in, ShapeArgs* args);

}  // namespace wick
