// Arena planning: places tensors in one buffer so that two that live at the same time never
// overlap.
#pragma once

#include "runtime/core/array.h"

namespace wick::vulkan {

// Every device accepts multiples of this as the offset of a storage buffer in a descriptor.
constexpr uint64_t kRegionAlignment = 256;

struct ArenaItem {
  uint64_t bytes = 0;
  int64_t first = 0, last = 0;  // steps at which it is live, both included
  uint64_t offset = 0;          // set by plan_arena
};

// Places the largest item first, each at the lowest offset that is free during its life; none
// crosses a multiple of `limit`, where another buffer begins. Returns the arena's size.
Result<uint64_t> plan_arena(Array<ArenaItem>& items, uint64_t limit = uint64_t{1} << 62);

// Assigns consecutive offsets; no item crosses a multiple of `limit`.
class Bump {
 public:
  explicit Bump(uint64_t limit) : limit_(limit) {}
  uint64_t place(uint64_t bytes);
  uint64_t size() const { return size_; }

 private:
  uint64_t limit_, size_ = 0;
};

}  // namespace wick::vulkan
