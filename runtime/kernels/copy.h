// Strided copy: the one loop behind every op that only moves elements.
#pragma once

#include "runtime/core/tensor_view.h"

namespace wick {

// dst[i] = src[i] for all indices. Same shape and dtype (of 1 to 16 bytes, or packed); any strides,
// 0 and negative included in src. The two must not overlap. A packed dst is written whole bytes of:
// it is contiguous.
void copy_strided(const TensorView& src, const TensorView& dst);

// The view of `v` over [start, start + count * step) of one axis; step may be negative. No bounds
// check.
TensorView slice_view(const TensorView& v, int axis, int64_t start, int64_t step, int64_t count);

}  // namespace wick
