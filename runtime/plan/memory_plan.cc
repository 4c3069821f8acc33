#include "runtime/plan/memory_plan.h"

#include <algorithm>

#include "runtime/core/function_ref.h"
#include "runtime/core/int_math.h"

namespace wick {
namespace {

// With more buffers than this, planning in order of time replaces the quadratic search by size.
constexpr size_t kMaxSearched = 4096;

bool overlap_in_time(const BufferRequest& a, const BufferRequest& b) {
  return a.first <= b.last && b.first <= a.last;
}

Status too_large() {
  return Status(Code::kBudgetExceeded, "the planned memory exceeds the address space");
}

// A heap sort: one instance serves every order, where each would need its own std::sort. Orders are
// total.
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

// Memory as a row of pieces, each in use or free; adjacent free pieces are merged. Free pieces are
// kept in lists by size class, eight for each power of two, so that take() and give() cost the same
// however many there are.
class Pieces {
 public:
  explicit Pieces(Allocator& allocator) : pieces_(allocator), spare_(allocator) {
    for (uint32_t& head : heads_) head = kNone;
  }

  // Takes the tightest fit among the free pieces, else extends the memory. `piece` is what give()
  // takes.
  Status take(size_t bytes, size_t* total, uint32_t* piece) {
    uint32_t found = tightest(size_class(bytes), bytes);
    if (found == kNone) found = larger(size_class(bytes));
    if (found == kNone && last_ != kNone && pieces_[last_].free) {
      unlink(last_);  // extends the last free piece if it is too small
      pieces_[last_].bytes = std::max(pieces_[last_].bytes, bytes);
      link(found = last_);
    }
    if (found == kNone) {
      WICK_TRY(insert(last_, *total, bytes, &found));
    } else {
      unlink(found);
      const size_t left = pieces_[found].bytes - bytes;
      pieces_[found].bytes = bytes;
      if (left != 0) {
        uint32_t rest;
        WICK_TRY(insert(found, pieces_[found].offset + bytes, left, &rest));
        link(rest);
      }
    }
    pieces_[found].free = false;
    if (pieces_[found].offset > SIZE_MAX / 2 - bytes) return too_large();
    *total = std::max(*total, pieces_[found].offset + bytes);
    *piece = found;
    return {};
  }
  Status give(uint32_t piece) {
    const uint32_t before = pieces_[piece].before, after = pieces_[piece].after;
    if (after != kNone && pieces_[after].free) WICK_TRY(join(piece, after));
    if (before != kNone && pieces_[before].free) {
      WICK_TRY(join(before, piece));
      piece = before;
    }
    link(piece);
    return {};
  }
  size_t offset(uint32_t piece) const { return pieces_[piece].offset; }

 private:
  static constexpr uint32_t kNone = UINT32_MAX;
  static constexpr int kClasses = 512;
  static constexpr int kLookedAt = 32;  // pieces of one list that tightest() looks at

  struct Piece {
    size_t offset = 0, bytes = 0;
    uint32_t before = kNone, after = kNone;   // neighbours in memory
    uint32_t previous = kNone, next = kNone;  // neighbours in the free list
    bool free = false;
  };

  // The class of a size in units: its highest bit and the three bits after it.
  static int size_class(size_t bytes) {
    const uint64_t units = bytes / kAlignment;
    if (units < 8) return static_cast<int>(units);
    const int high = 63 - __builtin_clzll(units);
    return (high - 2) * 8 + static_cast<int>(units >> (high - 3) & 7);
  }
  uint32_t tightest(int list, size_t bytes) const {
    uint32_t best = kNone;
    int looked = 0;
    for (uint32_t p = heads_[list]; p != kNone && looked < kLookedAt; p = pieces_[p].next) {
      ++looked;
      if (pieces_[p].bytes < bytes) continue;
      if (best == kNone || pieces_[p].bytes < pieces_[best].bytes) best = p;
    }
    return best;
  }
  // Returns the first piece of the first non-empty list after `list`: all its pieces are larger.
  uint32_t larger(int list) const {
    for (int k = list + 1; k < kClasses;) {
      const uint64_t here = filled_[k / 64] >> (k % 64);
      if (here != 0) return tightest(k + __builtin_ctzll(here), 0);
      k = (k / 64 + 1) * 64;
    }
    return kNone;
  }
  void link(uint32_t piece) {
    const int list = size_class(pieces_[piece].bytes);
    pieces_[piece].free = true;
    pieces_[piece].previous = kNone;
    pieces_[piece].next = heads_[list];
    if (heads_[list] != kNone) pieces_[heads_[list]].previous = piece;
    heads_[list] = piece;
    filled_[list / 64] |= uint64_t{1} << (list % 64);
  }
  void unlink(uint32_t piece) {
    const Piece& p = pieces_[piece];
    const int list = size_class(p.bytes);
    if (p.next != kNone) pieces_[p.next].previous = p.previous;
    if (p.previous != kNone) {
      pieces_[p.previous].next = p.next;
    } else {
      heads_[list] = p.next;
      if (p.next == kNone) filled_[list / 64] &= ~(uint64_t{1} << (list % 64));
    }
  }
  Status insert(uint32_t behind, size_t offset, size_t bytes, uint32_t* piece) {
    if (spare_.empty()) {
      *piece = static_cast<uint32_t>(pieces_.size());
      WICK_TRY(pieces_.push_back({}));
    } else {
      *piece = spare_.back();
      WICK_TRY(spare_.resize(spare_.size() - 1));  // shorter, never fails: GCOVR_EXCL_BR_LINE
    }
    const uint32_t after = behind == kNone ? kNone : pieces_[behind].after;
    pieces_[*piece] = {offset, bytes, behind, after, kNone, kNone, false};
    if (behind != kNone) pieces_[behind].after = *piece;
    if (after != kNone) pieces_[after].before = *piece;
    if (behind == last_) last_ = *piece;
    return {};
  }
  // Merges `second`, the piece after `first`, into it; whichever was free leaves its list.
  Status join(uint32_t first, uint32_t second) {
    unlink(pieces_[first].free ? first : second);
    pieces_[first].bytes += pieces_[second].bytes;
    pieces_[first].after = pieces_[second].after;
    if (pieces_[first].after != kNone) pieces_[pieces_[first].after].before = first;
    if (last_ == second) last_ = first;
    return spare_.push_back(second);
  }

  Array<Piece> pieces_;
  Array<uint32_t> spare_;
  uint32_t heads_[kClasses];
  uint64_t filled_[kClasses / 64] = {};
  uint32_t last_ = kNone;
};

// Places buffers in the order in which their lifetimes begin, each in the tightest piece that is
// free then.
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
  Pieces pieces(allocator);
  Array<uint32_t> piece(allocator);  // by request
  WICK_TRY(piece.resize(requests.size()));
  size_t gone = 0;
  for (uint32_t id : order) {
    for (; last(ends[gone]) < requests[id].first; ++gone) WICK_TRY(pieces.give(piece[ends[gone]]));
    WICK_TRY(pieces.take(rounded(requests[id].bytes), total, &piece[id]));
    offsets[id] = pieces.offset(piece[id]);
  }
  return {};
}

}  // namespace

Status plan_memory(Span<const BufferRequest> requests, Span<size_t> offsets, size_t* total,
                   Allocator& allocator) {
  *total = 0;
  Array<uint32_t> order(allocator), placed(allocator);  // placed: by increasing offset
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
    WICK_TRY(placed.push_back(id));  // reserved, never fails: GCOVR_EXCL_BR_LINE
    size_t k = placed.size() - 1;
    for (; k > 0 && offsets[placed[k - 1]] > at; --k) placed[k] = placed[k - 1];
    placed[k] = id;
  }
  return {};
}

// Buffers with the farthest end come first, so that each step is written once.
Status memory_in_use(Span<const BufferRequest> requests, Span<const size_t> offsets,
                     Span<size_t> used, Allocator& allocator) {
  Array<uint32_t> order(allocator), open(allocator);  // open: the next step to look at
  auto end = [&](uint32_t id) { return offsets[id] + rounded(requests[id].bytes); };
  for (uint32_t i = 0; i < requests.size(); ++i)
    if (requests[i].bytes != 0) WICK_TRY(order.push_back(i));
  sort_ids(order,
           [&](uint32_t a, uint32_t b) { return end(a) != end(b) ? end(a) > end(b) : a < b; });
  for (uint32_t s = 0; s <= used.size(); ++s) WICK_TRY(open.push_back(s));
  auto next_open = [&](uint32_t s) {
    while (open[s] != s) s = open[s] = open[open[s]];
    return s;
  };
  for (size_t& bytes : used) bytes = 0;
  for (uint32_t id : order) {
    const auto last = static_cast<uint32_t>(std::max(requests[id].first, requests[id].last));
    for (uint32_t s = next_open(static_cast<uint32_t>(requests[id].first));
         s < used.size() && s <= last; s = next_open(s)) {
      used[s] = end(id);
      open[s] = s + 1;
    }
  }
  return {};
}

}  // namespace wick
