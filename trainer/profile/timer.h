// Timer: wall time between two points, after whatever runs asynchronously has ended.
//
// On the CPU nothing is asynchronous: an op returns when its kernel has written the result, the
// pool's workers included, so that there is nothing to wait for and two reads of the clock are the
// truth. On a device with a queue they would time the submission: synchronize() waits for every
// device that runs sessions' work, and every figure of trainer/profile goes through here.
#pragma once

#include <chrono>
#include <cstdint>

#include "runtime/core/async_work.h"

namespace wick {

// Monotonic; of the same clock as TraceEvent's.
inline uint64_t now_ns() {
  return static_cast<uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(
                                   std::chrono::steady_clock::now().time_since_epoch())
                                   .count());
}

class Timer {
 public:
  Timer() { restart(); }
  void restart() {
    synchronize();
    begin_ = now_ns();
  }
  // Since construction or the last restart().
  uint64_t nanoseconds() const {
    synchronize();
    return now_ns() - begin_;
  }
  double seconds() const { return static_cast<double>(nanoseconds()) * 1e-9; }
  double milliseconds() const { return static_cast<double>(nanoseconds()) * 1e-6; }

 private:
  uint64_t begin_ = 0;
};

}  // namespace wick
