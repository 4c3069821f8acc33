// SlotQueue: numbered slots, each held by one caller at a time. A caller that finds none waits in
// line: a slot that is given back goes to whoever has waited longest.
#pragma once

#include "runtime/core/array.h"
#include "runtime/core/stop.h"
#include "runtime/platform/threads.h"

namespace wick {

class SlotQueue {
 public:
  explicit SlotQueue(Allocator& allocator) : free_(allocator), tags_(allocator) {}
  // Call it once, before others use the queue. Nothing is allocated later.
  Status open(size_t slots);

  // Takes a slot: one whose last holder gave the same tag if there is one, else the one that has
  // been free for longest. Where all are held: kBusy, or with `wait` the caller's place in line
  // until `stop` is reached (its error).
  Result<size_t> take(uint64_t tag, bool wait, Stop& stop);
  void give(size_t slot);

  size_t size() const { return tags_.size(); }
  size_t free() const;

 private:
  static constexpr size_t kNone = SIZE_MAX;
  // A caller in line. It lies on that caller's stack.
  struct Waiter {
    uint64_t tag;
    size_t slot = kNone;  // the one that it was given
    Waiter* next = nullptr;
    platform::Condition given;
  };
  size_t pick(uint64_t tag);
  void leave(Waiter& waiter);

  mutable platform::Mutex mutex_;  // guards all that follows
  Array<size_t> free_;             // ascending by the time since which they are free
  Array<uint64_t> tags_;           // by slot: of its last holder
  Waiter* first_ = nullptr;        // while one waits, no slot is free
};

}  // namespace wick
