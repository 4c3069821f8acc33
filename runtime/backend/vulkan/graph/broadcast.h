// Strides of the operands of elementwise shaders, with neighbouring dims merged where all operands
// allow it.
#pragma once

#include "runtime/backend/vulkan/graph/dispatch_builder.h"

namespace wick::vulkan {

constexpr int kMaxOperands = 3;

struct BroadcastDims {
  int rank = 0;
  int64_t dims[kMaxRank] = {};
  int64_t strides[kMaxOperands][kMaxRank] = {};  // 0 where the operand is broadcast
};

// `operands`: up to three shapes that broadcast to `result`.
BroadcastDims broadcast_dims(const Shape& result, Span<const Shape* const> operands);

// A call whose shader addresses inputs by these strides. Its first specialisation constants are
// `function` and the rank; its push constants are the number of elements, `own`, then `held` dims
// and as many strides of each operand.
Result<Dispatch> walk_dispatch(ShaderId shader, const OpCall& call, uint32_t function,
                               Span<const int> operands, Span<const uint32_t> own = {},
                               int held = kMaxRank);

}  // namespace wick::vulkan
