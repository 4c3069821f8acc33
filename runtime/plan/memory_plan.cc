#include "runtime/plan/memory_plan.h"

#include <algorithm>

#include "runtime/core/function_ref.h"

namespace wick {
namespace {

// Beyond this many buffers the quadratic search by size gives way to one in the order of time.
constexpr size_t kMaxSearched = 4096;
constexpr size_t kMaxGaps = 1024;  // looked at for one buffer: hostile files must not buy hours

size_t rounded(size_t bytes) { return (bytes + kAlignment - 1) & ~(kAlignment - 1); }

bool overlap_in_time(const BufferRequest& a, const BufferRequest& b) {
  return a.first <= b.last && b.first <= a.last;
}

Status too_large() {
  return Status(Code::kBudgetExceeded, "the planned memory exceeds the address space");
}

// A heap's: one copy of it for every order, where std::sort has one each. Orders are total.
void sort_ids(Array<uint32_t>& ids, FunctionRef<bool(uint32_t, uint32_t)> less) {
  auto sink = [&](size_t at, size_t size) {
    for (size_t child = 2 * at + 1; child < size; at = child, child = 2 * at + 1) {
      if (child + 1 < size && less(ids[child], ids[child + 1])) ++child;
      if (!less(ids[at], ids[child])) return;
      std::swap(ids[at], ids[child]);
    }
  };
  for (size_t k = ids.size() / 2; k > 0; --k) sink(k - 1, ids.size());
  for (size_t size = ids.size(); size > 1; --size) {
    std::swap(ids[0], ids[size - 1]);
    sink(0, size - 1);
  }
}

// Free places below what is in use, by offset, none touching the next.
class Gaps {
 public:
  struct Gap {
    size_t offset, bytes;
  };
  explicit Gaps(Allocator& allocator) : gaps_(allocator) {}

  Status give(size_t offset, size_t bytes) {
    size_t k = 0, end = gaps_.size();
    while (k < end) {  // the first gap behind `offset`
      size_t mid = (k + end) / 2;
      if (gaps_[mid].offset < offset) {
        k = mid + 1;
      } else {
        end = mid;
      }
    }
    bool before = k > 0 && gaps_[k - 1].offset + gaps_[k - 1].bytes == offset;
    bool after = k < gaps_.size() && offset + bytes == gaps_[k].offset;
    if (before) {
      gaps_[k - 1].bytes += bytes;
      if (!after) return {};
      gaps_[k - 1].bytes += gaps_[k].bytes;
      return remove(k);
    }
    if (after) {
      gaps_[k] = {offset, bytes + gaps_[k].bytes};
      return {};
    }
    WICK_TRY(gaps_.push_back({}));
    for (size_t i = gaps_.size() - 1; i > k; --i) gaps_[i] = gaps_[i - 1];
    gaps_[k] = {offset, bytes};
    return {};
  }
  // The smallest gap that holds them, else what lies behind everything.
  Status take(size_t bytes, size_t* total, size_t* at) {
    size_t best = SIZE_MAX;
    for (size_t i = 0; i < gaps_.size() && i < kMaxGaps; ++i) {
      if (gaps_[i].bytes >= bytes && (best == SIZE_MAX || gaps_[i].bytes < gaps_[best].bytes))
        best = i;
    }
    if (best != SIZE_MAX) {
      *at = gaps_[best].offset;
      if (gaps_[best].bytes == bytes) return remove(best);
      gaps_[best] = {*at + bytes, gaps_[best].bytes - bytes};
      return {};
    }
    *at = *total;
    if (!gaps_.empty() && gaps_.back().offset + gaps_.back().bytes == *total) {
      *at = gaps_.back().offset;
      WICK_TRY(remove(gaps_.size() - 1));
    }
    if (*at > SIZE_MAX / 2 - bytes) return too_large();
    *total = *at + bytes;
    return {};
  }

 private:
  Status remove(size_t k) {
    for (size_t i = k; i + 1 < gaps_.size(); ++i) gaps_[i] = gaps_[i + 1];
    return gaps_.resize(gaps_.size() - 1);
  }
  Array<Gap> gaps_;
};

// In the order in which they begin to live, each in the tightest place that is free then.
Status plan_in_time(Span<const BufferRequest> requests, Array<uint32_t>& order,
                    Span<size_t> offsets, size_t* total, Allocator& allocator) {
  Array<uint32_t> ends(allocator);
  for (uint32_t id : order) WICK_TRY(ends.push_back(id));
  auto last = [&](uint32_t id) { return std::max(requests[id].first, requests[id].last); };
  sort_ids(order, [&](uint32_t a, uint32_t b) {
    if (requests[a].first != requests[b].first) return requests[a].first < requests[b].first;
    if (requests[a].bytes != requests[b].bytes) return requests[a].bytes > requests[b].bytes;
    return a < b;
  });
  sort_ids(ends,
           [&](uint32_t a, uint32_t b) { return last(a) != last(b) ? last(a) < last(b) : a < b; });
  Gaps gaps(allocator);
  size_t gone = 0;
  for (uint32_t id : order) {
    for (; last(ends[gone]) < requests[id].first; ++gone)
      WICK_TRY(gaps.give(offsets[ends[gone]], rounded(requests[ends[gone]].bytes)));
    WICK_TRY(gaps.take(rounded(requests[id].bytes), total, &offsets[id]));
  }
  return {};
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
  if (order.size() > kMaxSearched) return plan_in_time(requests, order, offsets, total, allocator);
  WICK_TRY(placed.reserve(order.size()));
  sort_ids(order, [&](uint32_t a, uint32_t b) {
    if (requests[a].bytes != requests[b].bytes) return requests[a].bytes > requests[b].bytes;
    return a < b;
  });
  for (uint32_t id : order) {
    const BufferRequest& r = requests[id];
    size_t bytes = rounded(r.bytes), at = *total, best_gap = SIZE_MAX, end = 0;
    bool found = false;
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
    if (at > SIZE_MAX / 2 - bytes) return too_large();
    offsets[id] = at;
    *total = std::max(*total, at + bytes);
    WICK_TRY(placed.push_back(id));
    size_t k = placed.size() - 1;
    for (; k > 0 && offsets[placed[k - 1]] > at; --k) placed[k] = placed[k - 1];
    placed[k] = id;
  }
  return {};
}

}  // namespace wick
