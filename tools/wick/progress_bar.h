// Shows the progress of a long command: on a terminal one line that is redrawn, elsewhere one line
// every ten seconds.
#pragma once

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <string>

namespace wick::tool {

class ProgressBar {
 public:
  // `out` null: silent. The line is "WHAT [#####     ] 5/10".
  ProgressBar(std::FILE* out, std::string what);
  ~ProgressBar();
  ProgressBar(const ProgressBar&) = delete;
  ProgressBar& operator=(const ProgressBar&) = delete;
  void update(int64_t done, int64_t all);

 private:
  std::FILE* out_;
  std::string what_;
  bool terminal_, drawn_ = false;
  std::chrono::steady_clock::time_point shown_;
};

}  // namespace wick::tool
