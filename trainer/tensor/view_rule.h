// Decides which calls return a view instead of a copy.
#pragma once

#include "runtime/core/tensor_view.h"
#include "runtime/ops/op_id.h"

namespace wick {

// Returns whether the call's output is a view of in[0], and sets *out to it (data, shape, strides).
bool view_rule(OpId op, const void* attrs, Span<const TensorView> in, const Shape& out_shape,
               TensorView* out);

// Finds the strides with which a tensor of `view` has the shape `shape` without a copy; returns
// false if there are none.
bool reshape_strides(const TensorView& view, const Shape& shape, Strides* strides);

}  // namespace wick
