#include "runtime/backend/vulkan/graph/broadcast.h"

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
    // One step through two dims as through one, for every operand.
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

}  // namespace wick::vulkan
