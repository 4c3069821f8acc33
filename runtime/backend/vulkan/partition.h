// A partition on the device: its steps recorded into one command buffer.
#pragma once

#include "runtime/backend/backend.h"
#include "runtime/backend/vulkan/ctx/context.h"
#include "runtime/ops/rules/chain-inl.h"

namespace wick::vulkan {

Result<Owned<Partition>> make_partition(Context& context, const PartitionSpec& spec,
                                        Allocator& allocator);

// The types of a chain's steps (FusedElementwise) on these inputs.
Status types_of(const void* attrs, Span<const TensorView> in, rules::ChainTypes<int64_t>* types);

inline DType dtype_of(const rules::ChainTypes<int64_t>& types, int step) {
  return types.is_bool[step] ? DType::kBool : DType::kF32;
}

}  // namespace wick::vulkan
