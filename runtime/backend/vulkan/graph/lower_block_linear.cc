// BlockLinear: Linear with weights of 4 or 8 bits and one scale per block.
#include "runtime/backend/vulkan/graph/dispatch_builder.h"

namespace wick::vulkan {

static Status lower_block_linear(const OpCall& call, Lowered& out) {
  const auto& a = *static_cast<const BlockLinearAttrs*>(call.attrs);
  const TensorView &w = call.in[1], &scale = call.in[2];
  const auto present = [&](size_t i) { return i < call.in.size() && call.in[i].present(); };
  const bool halves = scale.dtype == DType::kF16;
  if (call.in[0].dtype != DType::kF32 || (!halves && scale.dtype != DType::kF32))
    return unsupported("no shader for this dtype");
  const int bits = dtype_bits(w.dtype);
  if (bits != 4 && bits != 8) return unsupported("weights of neither 4 bits nor 8");
  const int64_t columns = w.shape[0], depth = w.shape[1], each = 32 / bits;
  if (depth % each != 0) return unsupported("rows of weights that share a word");
  Dispatch d;
  d.shader = ShaderId::k_block_linear;
  add_spec(d, static_cast<uint32_t>(bits));
  add_spec(d, w.dtype == DType::kI4 || w.dtype == DType::kI8 ? 1 : 0);
  add_spec(d, halves ? 1 : 0);
  add_spec(d, (present(3) ? 1u : 0u) | (present(4) ? 2u : 0u));
  const int64_t rows = call.out[0].numel() / columns;
  add_push(d, rows);
  add_push(d, columns);
  add_push(d, depth);
  add_push(d, a.block_size);
  add_push(d, scale.shape[1]);
  add_push(d, a.zero_point);
  for (int i = 0; i < 3; ++i) add_operand(d, i);
  add_operand(d, present(3) ? 3 : 1);  // absent: binds another tensor, which is not read
  add_operand(d, present(4) ? 4 : 0);
  add_operand(d, out_operand(0));
  const int64_t across = (columns + 3) / 4;
  if (across > kMaxGroups) return unsupported("more columns than a dispatch has");
  d.groups[0] = static_cast<uint32_t>(across);
  d.groups[1] = groups_for(rows, WICK_BLOCK_ROWS);
  return out.dispatches.push_back(d);
}

WICK_VULKAN(BlockLinear, {.lower = lower_block_linear, .types = {is_any}});

}  // namespace wick::vulkan
