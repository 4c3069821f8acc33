// Operands of elementwise shaders walked by strides, neighbouring dims merged where all of them
// allow.
#pragma once

#include "runtime/core/tensor_view.h"

namespace wick::vulkan {

constexpr int kMaxOperands = 3;

struct BroadcastDims {
  int rank = 0;
  int64_t dims[kMaxRank] = {};
  int64_t strides[kMaxOperands][kMaxRank] = {};  // 0 where the operand is broadcast
};

// `operands`: up to three shapes that broadcast to `result`.
BroadcastDims broadcast_dims(const Shape& result, Span<const Shape* const> operands);

}  // namespace wick::vulkan
