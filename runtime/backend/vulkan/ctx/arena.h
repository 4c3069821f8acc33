// Arena planning: where in one buffer tensors lie, so that two live at the same time never overlap.
#pragma once

#include "runtime/core/array.h"

namespace wick::vulkan {

// What any device accepts as the offset of a storage buffer in a descriptor.
constexpr uint64_t kRegionAlignment = 256;

struct ArenaItem {
  uint64_t bytes = 0;
  int64_t first = 0, last = 0;  // steps at which it is live, both included
  uint64_t offset = 0;          // set by plan_arena
};

// Largest first, each at the lowest offset free over its life. Returns the arena's size.
Result<uint64_t> plan_arena(Array<ArenaItem>& items);

}  // namespace wick::vulkan
