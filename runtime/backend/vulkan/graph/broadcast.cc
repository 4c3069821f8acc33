#include "runtime/backend/vulkan/graph/broadcast.h"

#include "runtime/backend/vulkan/graph/element.h"

namespace wick::vulkan {

BroadcastDims broadcast_dims(const Shape& result, Span<const Shape* const> operands) {
  int64_t own[kMaxOperands][kMaxRank] = {};
  for (size_t k = 0; k < operands.size(); ++k) {
    const Shape& shape = *operands[k];
    const Strides strides = contiguous_strides(shape);
    const int lead = result.rank() - shape.rank();
    for (int d = lead; d < result.rank(); ++d)
      own[k][d] = shape[d - lead] == 1 ? 0 : strides[d - lead];
  }
  BroadcastDims out;
  for (int i = 0; i < kMaxRank; ++i) out.dims[i] = 1;
  for (int d = 0; d < result.rank(); ++d) {
    if (result[d] == 1) continue;
    // Two dims merge if every operand steps through them as through one.
    bool merge = out.rank > 0;
    for (size_t k = 0; k < operands.size(); ++k)
      merge = merge && out.strides[k][out.rank - 1] == own[k][d] * result[d];
    if (merge) {
      out.dims[out.rank - 1] *= result[d];
      for (size_t k = 0; k < operands.size(); ++k) out.strides[k][out.rank - 1] = own[k][d];
      continue;
    }
    out.dims[out.rank] = result[d];
    for (size_t k = 0; k < operands.size(); ++k) out.strides[k][out.rank] = own[k][d];
    ++out.rank;
  }
  return out;
}

Result<Dispatch> walk_dispatch(ShaderId shader, const OpCall& call, uint32_t function,
                               Span<const int> operands, Span<const uint32_t> own, int held) {
  const TensorView& y = call.out[0];
  const Shape* shapes[kMaxOperands] = {};
  for (size_t k = 0; k < operands.size(); ++k)
    shapes[k] = &call.in[static_cast<size_t>(operands[k])].shape;
  const BroadcastDims dims = broadcast_dims(y.shape, {shapes, operands.size()});
  if (dims.rank > held) return unsupported("too many dims that do not merge");
  Dispatch d = flat_dispatch(shader, words_of(y.dtype, y.numel()));
  add_spec(d, function);
  add_spec(d, static_cast<uint32_t>(dims.rank));
  add_push(d, y.numel());
  for (uint32_t v : own) add_push(d, v);
  for (int i = 0; i < held; ++i) add_push(d, dims.dims[i]);
  for (size_t k = 0; k < operands.size(); ++k) {
    for (int i = 0; i < held; ++i) add_push(d, dims.strides[k][i]);
    add_operand(d, operands[k]);
  }
  add_operand(d, out_operand(0));
  return d;
}

}  // namespace wick::vulkan
