#include "runtime/plan/memory_plan.h"

#include <algorithm>

namespace wick {
namespace {

// Beyond this many buffers the quadratic search gives way to one place each: hostile files must not
// buy hours.
constexpr size_t kMaxSearched = 16384;

size_t rounded(size_t bytes) { return (bytes + kAlignment - 1) & ~(kAlignment - 1); }

bool overlap_in_time(const BufferRequest& a, const BufferRequest& b) {
  return a.first <= b.last && b.first <= a.last;
}

Status too_large() {
  return Status(Code::kBudgetExceeded, "the planned memory exceeds the address space");
}

}  // namespace

Status plan_memory(Span<const BufferRequest> requests, Span<size_t> offsets, size_t* total,
                   Allocator& allocator) {
  *total = 0;
  Array<uint32_t> order(allocator), placed(allocator);  // placed: by rising offset
  for (uint32_t i = 0; i < requests.size(); ++i) {
    offsets[i] = 0;
    if (requests[i].bytes > SIZE_MAX / 4) return too_large();
    if (requests[i].bytes != 0) WICK_TRY(order.push_back(i));
  }
  WICK_TRY(placed.reserve(order.size()));
  std::sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) {
    if (requests[a].bytes != requests[b].bytes) return requests[a].bytes > requests[b].bytes;
    return a < b;
  });
  for (uint32_t id : order) {
    const BufferRequest& r = requests[id];
    size_t bytes = rounded(r.bytes), at = *total, best_gap = SIZE_MAX, end = 0;
    bool found = false;
    if (placed.size() < kMaxSearched) {
      for (uint32_t other : placed) {
        if (!overlap_in_time(r, requests[other])) continue;
        if (offsets[other] > end && offsets[other] - end >= bytes &&
            offsets[other] - end < best_gap) {
          best_gap = offsets[other] - end;
          at = end;
          found = true;
        }
        end = std::max(end, offsets[other] + rounded(requests[other].bytes));
      }
      if (!found) at = end;
    }
    if (at > SIZE_MAX / 2 - bytes) return too_large();
    offsets[id] = at;
    *total = std::max(*total, at + bytes);
    WICK_TRY(placed.push_back(id));
    if (placed.size() > kMaxSearched) continue;
    size_t k = placed.size() - 1;
    for (; k > 0 && offsets[placed[k - 1]] > at; --k) placed[k] = placed[k - 1];
    placed[k] = id;
  }
  return {};
}

}  // namespace wick
