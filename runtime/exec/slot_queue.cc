#include "runtime/exec/slot_queue.h"

namespace wick {

Status SlotQueue::open(size_t slots) {
  WICK_TRY(tags_.resize(slots));
  WICK_TRY(free_.resize(slots));
  for (size_t i = 0; i < slots; ++i) {
    tags_[i] = 0;
    free_[i] = i;
  }
  return {};
}

size_t SlotQueue::free() const {
  const platform::MutexLock lock(mutex_);
  return free_.size();
}

// Removes a slot from the list of free ones, which is not empty.
size_t SlotQueue::pick(uint64_t tag) {
  size_t at = 0;
  for (size_t i = free_.size(); i-- > 0;) {
    if (tags_[free_[i]] != tag) continue;
    at = i;
    break;
  }
  const size_t slot = free_[at];
  for (size_t i = at + 1; i < free_.size(); ++i) free_[i - 1] = free_[i];
  (void)free_.resize(free_.size() - 1).ok();  // becomes shorter: nothing is allocated
  tags_[slot] = tag;
  return slot;
}

Result<size_t> SlotQueue::take(uint64_t tag, bool wait, Stop& stop) {
  constexpr uint64_t kLookAgain = 5'000'000;  // a flag that cancels wakes nobody
  const platform::MutexLock lock(mutex_);
  if (!free_.empty()) return pick(tag);
  // Without threads nobody could give one back while this call waits.
  if (!wait || !platform::kHasThreads)
    return error(Code::kBusy, "all %zu sessions of the pool are in use", tags_.size());
  Waiter me{tag, kNone, nullptr, {}};
  Waiter** last = &first_;
  while (*last != nullptr) last = &(*last)->next;
  *last = &me;
  while (me.slot == kNone) {
    if (stop.reached()) {
      leave(me);
      return annotate(stop.status(), "all %zu sessions of the pool are in use: ", tags_.size());
    }
    if (!stop.armed()) {
      me.given.wait(mutex_);
      continue;
    }
    const uint64_t now = stop.deadline_ns() == 0 ? 0 : now_ns();
    uint64_t rest = stop.deadline_ns() == 0    ? kLookAgain
                    : now < stop.deadline_ns() ? stop.deadline_ns() - now + 1
                                               : 1;
    if (stop.may_cancel() && rest > kLookAgain) rest = kLookAgain;
    me.given.wait_for(mutex_, rest);
  }
  return me.slot;
}

// Takes a caller out of the line.
void SlotQueue::leave(Waiter& waiter) {
  Waiter** link = &first_;
  while (*link != &waiter) link = &(*link)->next;
  *link = waiter.next;
}

void SlotQueue::give(size_t slot) {
  const platform::MutexLock lock(mutex_);
  Waiter* next = first_;
  if (next == nullptr) {
    (void)free_.push_back(slot).ok();  // there is room for every slot
    return;
  }
  first_ = next->next;
  next->slot = slot;
  tags_[slot] = next->tag;
  next->given.wake_one();  // under the lock: the waiter is gone as soon as it sees its slot
}

}  // namespace wick
