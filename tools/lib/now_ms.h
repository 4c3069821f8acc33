// A clock for times that are shown to people.
#pragma once

#include <chrono>

namespace wick::tool {

inline double now_ms() {
  return std::chrono::duration<double, std::milli>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

}  // namespace wick::tool
