// Which calls the trainer answers with a view instead of a copy.
#pragma once

#include "runtime/core/tensor_view.h"
#include "runtime/ops/op_id.h"

namespace wick {

// True when the call's output is a view of in[0]; *out is then that view (data, shape, strides).
bool view_rule(OpId op, const void* attrs, Span<const TensorView> in, const Shape& out_shape,
               TensorView* out);

// Strides under which a tensor of `view` can be seen as `shape` without moving anything; false when
// there are none.
bool reshape_strides(const TensorView& view, const Shape& shape, Strides* strides);

}  // namespace wick
