// The part of a tensor that a Slice (bounds in the attributes) or an AsStrided call reads.
#pragma once

#include "runtime/core/tensor_view.h"
#include "runtime/ops/attrs.h"

namespace wick {

TensorView view_of(const SliceAttrs& a, const TensorView& x);
// x must be contiguous; the rule has checked the bounds.
TensorView view_of(const StridedAttrs& a, const TensorView& x);

}  // namespace wick
