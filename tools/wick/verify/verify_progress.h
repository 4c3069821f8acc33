// Says on a terminal what wick verify is at, while that takes long.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <mutex>
#include <string>
#include <thread>

#include "tools/lib/limits.h"

namespace wick::tool {

// From the second second on a line shows the work and its seconds; it goes before other lines are
// printed, and in the end. In a pipe there is none.
class VerifyProgress {
 public:
  // `out` is where the line is drawn: stderr past its guard, since it moves the cursor.
  explicit VerifyProgress(std::FILE* out);
  ~VerifyProgress();
  VerifyProgress(const VerifyProgress&) = delete;
  VerifyProgress& operator=(const VerifyProgress&) = delete;

  // Work begins, and what went before it has ended.
  void begins(const std::string& what);
  // Prints a line of the report.
  void print(std::FILE* to, const std::string& line);

 private:
  void watch();
  void clear();  // the mutex is held

  std::FILE* out_;
  const bool terminal_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::string what_;
  std::chrono::steady_clock::time_point since_;
  bool drawn_ = false, ends_ = false;
  std::thread thread_;
  const AtTimeUp last_{[this] {
    // Whoever prints may wait for its reader for ever.
    const std::unique_lock<std::mutex> lock(mutex_, std::try_to_lock);
    if (lock) clear();
  }};
};

}  // namespace wick::tool
