// InUse: marks a session as in use. A session serves one caller at a time, and a second caller gets
// an error before it has touched anything. It costs one atomic exchange per call; nobody waits.
#pragma once

#include <atomic>

#include "runtime/core/status.h"

namespace wick {

class InUse {
 public:
  enum State : uint32_t {
    kFree,
    kCall,     // a call is running
    kStarted,  // between start() and finish(): no call is running, but a run is under way
  };

 private:
  friend class Turn;
  std::atomic<uint32_t> state_{kFree};
};

// Holds a session for one call, until the end of the scope.
class Turn {
 public:
  explicit Turn(InUse& use) : state_(use.state_) {}
  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;
  ~Turn() {
    if (has_) state_.store(after_, std::memory_order_release);
  }

  // Takes the session for a call that changes it. The error texts are literals, so that the refused
  // thread keeps the text of its last error.
  Status take() { return enter(InUse::kFree); }
  // Takes the session for finish().
  Status take_started() { return enter(InUse::kStarted); }
  // Takes the session for a call that only reads; allowed between start() and finish() as well.
  Status take_to_look() {
    while (true) {
      const auto seen = static_cast<InUse::State>(state_.load(std::memory_order_relaxed));
      Status s = enter(seen == InUse::kStarted ? seen : InUse::kFree);
      if (s.ok() || seen == InUse::kCall) return s;
      // The state changed between the two reads: that is no reason to refuse, so try again.
    }
  }
  // Sets the state that the session has after this call.
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
