// Timer: wall time between two points, after all asynchronous work has ended.
//
// On the CPU nothing is asynchronous: an op returns when its kernel has written the result,
// including the pool's workers, so two clock reads are enough. On a device with a queue they would
// only measure the submission: synchronize() waits for every device that runs work, and all
// measurements of trainer/profile use it.
#pragma once

#include <chrono>
#include <cstdint>

#include "runtime/core/async_work.h"

namespace wick {

// Monotonic; the same clock as in TraceEvent.
inline uint64_t now_ns() {
  return static_cast<uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(
                                   std::chrono::steady_clock::now().time_since_epoch())
                                   .count());
}

// Wall time of whatever ran in between, on devices too.
class Timer {
 public:
  Timer() { restart(); }
  // Waits for what runs, and begins again.
  void restart() {
    synchronize();
    begin_ = now_ns();
  }
  // Returns the time since construction or the last restart().
  uint64_t nanoseconds() const {
    synchronize();
    return now_ns() - begin_;
  }
  // Return the time since construction or the last restart(), after waiting for what runs.
  double seconds() const { return static_cast<double>(nanoseconds()) * 1e-9; }
  double milliseconds() const { return static_cast<double>(nanoseconds()) * 1e-6; }

 private:
  uint64_t begin_ = 0;
};

}  // namespace wick
