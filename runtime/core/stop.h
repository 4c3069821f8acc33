// Stop: ends a run early, at a deadline or because the caller cancelled it.
//
// A session arms a Stop for the run and makes it current on the threads that work for the run.
// Kernels never see it: it is checked where that costs little (by parallel_for before each task, by
// Poll in plain loops). Skipped work leaves outputs and scratch buffers as they were, so code that
// continues after such a place checks stopped() before it uses their contents as an index or a
// size.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "runtime/core/status.h"

namespace wick {

// Returns the steady clock's time in nanoseconds.
uint64_t now_ns();

// Ends the runs that were given it (RunOptions::cancel). May be used from any thread or a signal
// handler.
class CancelFlag {
 public:
  // Ends the runs that use this flag soon, and those that begin later. It may be called from any
  // thread or a signal handler.
  void request() { asked_.store(1, std::memory_order_relaxed); }
  // Resets the flag for the next run; a run that is under way may or may not end.
  void clear() { asked_.store(0, std::memory_order_relaxed); }
  // Returns whether request() was called since the last clear().
  bool requested() const { return asked_.load(std::memory_order_relaxed) != 0; }

 private:
  // A whole word: compilers for RISC-V have no instructions to exchange bytes atomically.
  std::atomic<uint32_t> asked_{0};
  static_assert(std::atomic<uint32_t>::is_always_lock_free, "a signal handler may request()");
};

// The Stop of one run. It is armed before any thread works for the run; then any number of threads
// may check it.
class Stop {
 public:
  // deadline_ns is a time of `clock`, 0: none. cancel: null: none.
  void arm(uint64_t deadline_ns, const CancelFlag* cancel, uint64_t (*clock)() = now_ns) {
    deadline_ns_ = deadline_ns;
    cancel_ = cancel;
    clock_ = clock;
    why_.store(0, std::memory_order_relaxed);
  }
  // Returns false when nothing can end the run.
  bool armed() const { return deadline_ns_ != 0 || cancel_ != nullptr; }
  // Return the time of the deadline (0: none), and whether there is a flag.
  uint64_t deadline_ns() const { return deadline_ns_; }
  bool may_cancel() const { return cancel_ != nullptr; }

  // Checks whether the run has to end. Once true it stays true, so the caller can tell later that
  // work was skipped. `now` receives the time where the clock was read.
  bool reached(uint64_t* now = nullptr) {
    if (is_set()) return true;
    if (cancel_ != nullptr && cancel_->requested()) return set(Code::kCancelled);
    if (deadline_ns_ == 0) return false;
    const uint64_t at = clock_();
    if (now != nullptr) *now = at;
    return at > deadline_ns_ && set(Code::kDeadline);
  }
  // Returns whether reached() has returned true.
  bool is_set() const { return why_.load(std::memory_order_relaxed) != 0; }
  // Returns ok while the Stop is not set.
  Status status() const;

 private:
  bool set(Code why) {
    uint32_t none = 0;
    why_.compare_exchange_strong(none, static_cast<uint32_t>(why), std::memory_order_relaxed);
    return true;
  }

  uint64_t deadline_ns_ = 0;
  const CancelFlag* cancel_ = nullptr;
  uint64_t (*clock_)() = now_ns;
  std::atomic<uint32_t> why_{0};  // a Code; 0: kOk
};

// Returns the Stop of the run that the calling thread works for; null: nothing ends the run.
Stop* current_stop();

// Makes a Stop current on the calling thread for the scope's lifetime; null: work that starts in
// the scope runs to its end.
class StopScope {
 public:
  explicit StopScope(Stop* stop);
  ~StopScope();
  StopScope(const StopScope&) = delete;
  StopScope& operator=(const StopScope&) = delete;

 private:
  Stop* saved_;
};

// Returns whether work was skipped for this thread's run, so that its results are missing.
inline bool stopped() {
  const Stop* stop = current_stop();
  return stop != nullptr && stop->is_set();
}

// For plain loops: checks once every kPollWork steps, as counted by the caller.
constexpr int64_t kPollWork = int64_t{1} << 16;
// Counts the steps of a loop, and asks after every kPollWork of them whether the run has to stop.
class Poll {
 public:
  Poll() : Poll(current_stop()) {}
  explicit Poll(Stop* stop) : stop_(stop) {}  // null: never checks
  // Returns true when the kernel has to return. `work`: about how many steps will be done before
  // the next call.
  bool operator()(int64_t work = 1) {
    if (stop_ == nullptr) return false;
    left_ -= work < kPollWork ? work : kPollWork;
    return left_ < 0 && ask();
  }
  // Returns how many of the `rest` steps a loop may do before its next call.
  int64_t piece(int64_t rest) const {
    return stop_ == nullptr || rest < kPollWork ? rest : kPollWork;
  }

 private:
  bool ask() {
    left_ = kPollWork;
    if (!stop_->reached()) return false;
    left_ = 0;  // from now on every call checks and returns true
    return true;
  }

  Stop* stop_;
  int64_t left_ = kPollWork;
};

// Calls f(begin, end) for [0, n): once where nothing can end the run, else in pieces with a check
// before each.
template <class F>
void in_pieces(Poll& poll, int64_t n, F&& f) {
  for (int64_t begin = 0; begin < n;) {
    const int64_t end = begin + poll.piece(n - begin);
    if (poll(end - begin)) return;
    f(begin, end);
    begin = end;
  }
}

// memcpy in pieces with a check before each. Returns false when the run was ended and `to` is
// incomplete.
bool copy_bytes(void* to, const void* from, size_t bytes);

// For many tasks of about the same length: checks before each task, but for quick tasks reads the
// clock only every few tasks.
class TaskPoll {
 public:
  explicit TaskPoll(Stop* stop) : stop_(stop) {}
  bool operator()() { return stop_ != nullptr && --left_ <= 0 && ask(); }

 private:
  bool ask();

  Stop* stop_;
  int left_ = 0, every_ = 1;
  uint64_t asked_ns_ = 0;
};

}  // namespace wick
