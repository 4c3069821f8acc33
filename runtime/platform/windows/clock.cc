#include "runtime/platform/clock.h"

#define WIN32_LEAN_AND_MEAN
#include <windows.h>

namespace wick::platform {

uint64_t clock_ns() {
  LARGE_INTEGER ticks, in_a_second;
  QueryPerformanceCounter(&ticks);
  QueryPerformanceFrequency(&in_a_second);
  const auto n = static_cast<uint64_t>(ticks.QuadPart);
  const auto second = static_cast<uint64_t>(in_a_second.QuadPart);
  return n / second * 1'000'000'000u + n % second * 1'000'000'000u / second;
}

}  // namespace wick::platform
