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

// Largest first, each at the lowest offset free over its life; none lies across a multiple of
// `limit`, at which another buffer begins. Returns the arena's size.
Result<uint64_t> plan_arena(Array<ArenaItem>& items, uint64_t limit = uint64_t{1} << 62);

// Where things lie that are given out one behind another, none across a multiple of `limit`.
class Bump {
 public:
  explicit Bump(uint64_t limit) : limit_(limit) {}
  uint64_t place(uint64_t bytes);
  uint64_t size() const { return size_; }

 private:
  uint64_t limit_, size_ = 0;
};

}  // namespace wick::vulkan
