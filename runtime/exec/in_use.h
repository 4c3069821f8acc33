// Who is in a session: it serves one caller at a time, and a second one is told so before it has
// touched anything. One exchange of one word a call; nobody waits.
#pragma once

#include <atomic>

#include "runtime/core/status.h"

namespace wick {

class InUse {
 public:
  enum State : uint32_t {
    kFree,
    kCall,     // a call is in it
    kStarted,  // between start() and finish() no call is in it, but it is one run's
  };

 private:
  friend class Turn;
  std::atomic<uint32_t> state_{kFree};
};

// A call's turn, from when it was given to the end of the scope.
class Turn {
 public:
  explicit Turn(InUse& use) : state_(use.state_) {}
  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;
  ~Turn() {
    if (has_) state_.store(after_, std::memory_order_release);
  }

  // For what changes the session. The texts are literals: who is refused keeps its last error's.
  Status take() { return enter(InUse::kFree); }
  // For finish().
  Status take_started() { return enter(InUse::kStarted); }
  // For what only looks, also between start() and finish().
  Status take_to_look() {
    while (true) {
      const auto seen = static_cast<InUse::State>(state_.load(std::memory_order_relaxed));
      Status s = enter(seen == InUse::kStarted ? seen : InUse::kFree);
      if (s.ok() || seen == InUse::kCall) return s;
      // A call began or ended since it was looked at: that is no reason to refuse.
    }
  }
  // As what the session is left behind.
  void leave_as(InUse::State state) { after_ = state; }

 private:
  Status enter(InUse::State from) {
    uint32_t found = from;
    has_ = state_.compare_exchange_strong(found, InUse::kCall, std::memory_order_acquire,
                                          std::memory_order_relaxed);
    after_ = from;
    if (has_) return {};
    if (found == InUse::kCall) {
      return Status(Code::kInvalidArgument,
                    "another call is in this session, which serves one caller at a time: open a "
                    "session for each thread (sessions of one program share its weights)");
    }
    if (found == InUse::kStarted) {
      return Status(Code::kInvalidArgument,
                    "the run that was started in this session is not finished yet: call finish() "
                    "first, or open another session (sessions of one program share its weights)");
    }
    return Status(Code::kInvalidArgument, "no run was started");
  }

  std::atomic<uint32_t>& state_;
  uint32_t after_ = InUse::kFree;
  bool has_ = false;
};

}  // namespace wick
