// How a run is ended before it is done: at a deadline, or because somebody asked for it.
//
// A session arms a Stop for the run and puts it in force on the threads that work for it; kernels
// never see it, they ask at the places where it costs little (parallel_for before each task, Poll
// in plain loops). What skipped work has left its outputs and scratch as they were, so code that
// goes on after such a place asks stopped() before it takes what lies there for an index or a size.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "runtime/core/status.h"

namespace wick {

// steady clock, ns
uint64_t now_ns();

// Ends the runs that were given it (RunOptions::cancel). From any thread, or a signal handler.
class CancelFlag {
 public:
  void request() { asked_.store(1, std::memory_order_relaxed); }
  // For the next run; while one is under way it may or may not end.
  void clear() { asked_.store(0, std::memory_order_relaxed); }
  bool requested() const { return asked_.load(std::memory_order_relaxed) != 0; }

 private:
  // A word: compilers for RISC-V have no instructions to exchange bytes.
  std::atomic<uint32_t> asked_{0};
  static_assert(std::atomic<uint32_t>::is_always_lock_free, "a signal handler may request()");
};

// Of one run. It is armed while nobody works for it; then any number of threads ask.
class Stop {
 public:
  // deadline_ns: of `clock`; 0: none. cancel: null: none.
  void arm(uint64_t deadline_ns, const CancelFlag* cancel, uint64_t (*clock)() = now_ns) {
    deadline_ns_ = deadline_ns;
    cancel_ = cancel;
    clock_ = clock;
    why_.store(0, std::memory_order_relaxed);
  }
  // False: nothing can end the run.
  bool armed() const { return deadline_ns_ != 0 || cancel_ != nullptr; }
  uint64_t deadline_ns() const { return deadline_ns_; }
  bool may_cancel() const { return cancel_ != nullptr; }

  // Asks. Once true it stays so: whoever skips work has set what the caller looks at afterwards.
  // `now`: where the clock was looked at, what it said.
  bool reached(uint64_t* now = nullptr) {
    if (is_set()) return true;
    if (cancel_ != nullptr && cancel_->requested()) return set(Code::kCancelled);
    if (deadline_ns_ == 0) return false;
    const uint64_t at = clock_();
    if (now != nullptr) *now = at;
    return at > deadline_ns_ && set(Code::kDeadline);
  }
  // Somebody was told so.
  bool is_set() const { return why_.load(std::memory_order_relaxed) != 0; }
  // Ok while it is not set.
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

// Of the run that the calling thread works for; null: nothing ends it.
Stop* current_stop();

// Puts a Stop in force on the calling thread for as long as it lives; null: what is begun here runs
// to its end.
class StopScope {
 public:
  explicit StopScope(Stop* stop);
  ~StopScope();
  StopScope(const StopScope&) = delete;
  StopScope& operator=(const StopScope&) = delete;

 private:
  Stop* saved_;
};

// Work was skipped on behalf of this thread's run: what it was to make is not there.
inline bool stopped() {
  const Stop* stop = current_stop();
  return stop != nullptr && stop->is_set();
}

// For plain loops: asks once every kPollWork steps, by the steps that the caller counts.
constexpr int64_t kPollWork = int64_t{1} << 16;
class Poll {
 public:
  Poll() : Poll(current_stop()) {}
  explicit Poll(Stop* stop) : stop_(stop) {}  // null: it never asks
  // True: leave the loop and the kernel. `work`: about how many steps will be done before the next
  // call.
  bool operator()(int64_t work = 1) {
    if (stop_ == nullptr) return false;
    left_ -= work < kPollWork ? work : kPollWork;
    return left_ < 0 && ask();
  }
  // Steps that a loop may do without a call: the rest is cut into pieces of so many.
  int64_t piece(int64_t rest) const {
    return stop_ == nullptr || rest < kPollWork ? rest : kPollWork;
  }

 private:
  bool ask() {
    left_ = kPollWork;
    if (!stop_->reached()) return false;
    left_ = 0;  // true for ever
    return true;
  }

  Stop* stop_;
  int64_t left_ = kPollWork;
};

// f(begin, end) for [0, n): one call where nothing can end the run, else pieces between which it
// asks.
template <class F>
void in_pieces(Poll& poll, int64_t n, F&& f) {
  for (int64_t begin = 0; begin < n;) {
    const int64_t end = begin + poll.piece(n - begin);
    if (poll(end - begin)) return;
    f(begin, end);
    begin = end;
  }
}

// memcpy in pieces, between which it asks. False: ended, `to` is not whole.
bool copy_bytes(void* to, const void* from, size_t bytes);

// Asks before each of many tasks of about the same length, of which quick ones are not worth a look
// at the clock each.
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
