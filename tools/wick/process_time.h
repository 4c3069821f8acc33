// The processor time of this process.
#pragma once

#include <sys/resource.h>

namespace wick::tool {

// The user's and the system's milliseconds, of all threads.
inline double cpu_ms() {
  rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  const auto ms = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) * 1e3 + static_cast<double>(t.tv_usec) / 1e3;
  };
  return ms(usage.ru_utime) + ms(usage.ru_stime);
}

}  // namespace wick::tool
