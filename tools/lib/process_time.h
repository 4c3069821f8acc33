// The processor time of this process.
#pragma once

#include <ctime>

namespace wick::tool {

// The user's and the system's milliseconds, of all threads.
inline double cpu_ms() {
  timespec t;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) * 1e3 + static_cast<double>(t.tv_nsec) / 1e6;
}

}  // namespace wick::tool
