#include "runtime/backend/vulkan/ctx/arena.h"

namespace wick::vulkan {
namespace {

uint64_t align_up(uint64_t n) {
  return (n + kRegionAlignment - 1) / kRegionAlignment * kRegionAlignment;
}

bool live_together(const ArenaItem& a, const ArenaItem& b) {
  return a.first <= b.last && b.first <= a.last;
}

}  // namespace

uint64_t Bump::place(uint64_t bytes) {
  if (size_ % limit_ + bytes > limit_) size_ += limit_ - size_ % limit_;
  const uint64_t at = size_;
  size_ += align_up(bytes);
  return at;
}

Result<uint64_t> plan_arena(Array<ArenaItem>& items, uint64_t limit) {
  Array<uint32_t> order(items.allocator());
  WICK_TRY(order.resize(items.size()));
  for (uint32_t i = 0; i < items.size(); ++i) {
    // An insertion sort keeps the order of equal sizes: the plan depends only on its input.
    uint32_t at = i;
    for (; at > 0 && items[order[at - 1]].bytes < items[i].bytes; --at) order[at] = order[at - 1];
    order[at] = i;
  }
  uint64_t size = 0;
  for (uint32_t placed = 0; placed < order.size(); ++placed) {
    ArenaItem& item = items[order[placed]];
    uint64_t bytes = align_up(item.bytes);
    uint64_t offset = 0;
    // Every move goes past a placed neighbour or to the next buffer, so this ends after all of
    // them.
    for (bool moved = true; moved;) {
      moved = false;
      if (offset % limit + bytes > limit) {
        offset += limit - offset % limit;
        moved = true;
      }
      for (uint32_t k = 0; k < placed; ++k) {
        const ArenaItem& other = items[order[k]];
        uint64_t other_end = other.offset + align_up(other.bytes);
        if (live_together(item, other) && offset < other_end && other.offset < offset + bytes) {
          offset = other_end;
          moved = true;
        }
      }
    }
    item.offset = offset;
    if (offset + bytes > size) size = offset + bytes;
  }
  return size;
}

}  // namespace wick::vulkan
