// Strided copy: the one loop behind every op that only moves elements.
#pragma once

#include "runtime/core/tensor_view.h"

namespace wick {

// Copies dst[i] = src[i] for all indices. Shape and dtype must be equal (1 to 16 bytes, or packed);
// any strides are allowed, in src also 0 and negative ones. The two must not overlap. A packed dst
// must be contiguous, because whole bytes of it are written.
void copy_strided(const TensorView& src, const TensorView& dst);

// Returns the view of `v` over [start, start + count * step) of one axis; step may be negative. It
// does not check bounds.
TensorView slice_view(const TensorView& v, int axis, int64_t start, int64_t step, int64_t count);

}  // namespace wick
