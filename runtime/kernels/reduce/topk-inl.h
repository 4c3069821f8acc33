// The SIMD body of TopK, once per target.
#if defined(WICK_KERNELS_TOPK_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef WICK_KERNELS_TOPK_INL_H_
#undef WICK_KERNELS_TOPK_INL_H_
#else
#define WICK_KERNELS_TOPK_INL_H_
#endif

#include "hwy/highway.h"
#include "runtime/core/stop.h"

HWY_BEFORE_NAMESPACE();
namespace wick {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;
namespace topk {

using D = hn::CappedTag<float, 16>;
using DI = hn::RebindToSigned<D>;
constexpr int64_t kWidth = static_cast<int64_t>(hn::MaxLanes(D()));
constexpr int64_t kTogether = 4;  // vectors that are compared before one branch

// Integers in the order of the elements, the one that comes first the greatest: -0 < +0, NaN above
// all, or the other way round.
template <bool largest>
HWY_INLINE hn::Vec<DI> keys(hn::Vec<D> v) {
  const DI ints;
  const auto bits = hn::BitCast(ints, v), low = hn::Set(ints, INT32_MAX);
  auto key = hn::Xor(bits, hn::And(hn::ShiftRight<31>(bits), low));
  key = hn::IfThenElse(hn::RebindMask(ints, hn::IsNaN(v)), low, key);
  return largest ? key : hn::Not(key);
}

// The k best of the elements so far; the root of the heap is the worst of them. An item is a key
// and, below it, the index with all bits inverted, since the first of equal elements wins.
class Best {
 public:
  Best(int64_t* heap, int64_t k) : heap_(heap), k_(k) {}
  HWY_INLINE int32_t worst() const { return static_cast<int32_t>(heap_[0] >> 32); }
  HWY_INLINE void offer(int32_t key, int64_t index) {
    const int64_t item = static_cast<int64_t>(
        static_cast<uint64_t>(static_cast<int64_t>(key)) << 32 | static_cast<uint32_t>(~index));
    if (count_ == k_) {
      if (item > heap_[0]) sink(0, k_, item);
      return;
    }
    int64_t at = count_++;
    for (; at > 0 && heap_[(at - 1) / 2] > item; at = (at - 1) / 2) heap_[at] = heap_[(at - 1) / 2];
    heap_[at] = item;
  }
  // Sorts the items, the best first.
  HWY_INLINE void sort(Poll& poll) {
    for (int64_t left = k_ - 1; left > 0 && !poll(64); --left) {
      const int64_t last = heap_[left];
      heap_[left] = heap_[0];
      sink(0, left, last);
    }
  }
  HWY_INLINE int64_t index(int64_t i) const {
    return static_cast<int64_t>(static_cast<uint32_t>(~heap_[i]));
  }

 private:
  // Puts an item in place of that at `at`, below the smaller ones among the first n.
  HWY_INLINE void sink(int64_t at, int64_t n, int64_t item) {
    for (int64_t child = 2 * at + 1; child < n; child = 2 * at + 1) {
      if (child + 1 < n && heap_[child + 1] < heap_[child]) ++child;
      if (heap_[child] >= item) break;
      heap_[at] = heap_[child];
      at = child;
    }
    heap_[at] = item;
  }

  int64_t* heap_;
  int64_t k_, count_ = 0;
};

// Offers the elements [begin, end), whose vectors are whole but for the last.
template <bool largest>
HWY_INLINE void offer_all(const float* x, int64_t begin, int64_t end, Best& best) {
  const D d;
  const DI ints;
  HWY_ALIGN int32_t buffer[kTogether * kWidth];
  int64_t i = begin;
  for (; i + kTogether * kWidth <= end; i += kTogether * kWidth) {
    const auto worst = hn::Set(ints, best.worst());
    auto any = hn::Zero(ints);
    for (int64_t v = 0; v < kTogether; ++v) {
      const auto key = keys<largest>(hn::LoadU(d, x + i + v * kWidth));
      hn::Store(key, ints, buffer + v * kWidth);
      any = hn::Or(any, hn::VecFromMask(ints, hn::Gt(key, worst)));
    }
    if (hn::AllTrue(ints, hn::Eq(any, hn::Zero(ints)))) continue;
    for (int64_t k = 0; k < kTogether * kWidth; ++k) {
      if (buffer[k] > best.worst()) best.offer(buffer[k], i + k);
    }
  }
  for (; i < end; ++i) {
    HWY_ALIGN float one[kWidth] = {x[i]};
    const int32_t key = hn::GetLane(keys<largest>(hn::Load(d, one)));
    if (key > best.worst()) best.offer(key, i);
  }
}

template <bool largest>
static void line(const float* x, int64_t n, int64_t k, int64_t* heap) {
  const D d;
  Best best(heap, k);
  Poll poll;
  for (int64_t i = 0; i < k && !poll(8); ++i) {
    HWY_ALIGN float one[kWidth] = {x[i]};
    best.offer(hn::GetLane(keys<largest>(hn::Load(d, one))), i);
  }
  if (stopped()) return;
  for (int64_t at = k, piece; at < n && !poll(piece = poll.piece(n - at)); at += piece)
    offer_all<largest>(x, at, at + piece, best);
  if (stopped()) return;
  best.sort(poll);
  for (int64_t i = 0; i < k; ++i) heap[i] = best.index(i);
}

}  // namespace topk

static TopKBody find_topk(bool largest) { return largest ? topk::line<true> : topk::line<false>; }

}  // namespace HWY_NAMESPACE
}  // namespace wick
HWY_AFTER_NAMESPACE();

#endif
