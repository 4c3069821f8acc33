// A partition on the device: its steps are recorded into command buffers.
#pragma once

#include "runtime/backend/backend.h"
#include "runtime/backend/vulkan/ctx/context.h"

namespace wick::vulkan {

Result<Owned<Partition>> make_partition(Context& context, const PartitionSpec& spec,
                                        Allocator& allocator);

}  // namespace wick::vulkan
