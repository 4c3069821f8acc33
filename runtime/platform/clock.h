// The steady clock.
#pragma once

#include <cstdint>

#include "runtime/platform/system.h"

namespace wick::platform {

// Returns the nanoseconds since an arbitrary moment. Without an operating system it calls the
// program's own extern "C" uint64_t wick_clock_ns(void), or returns 0 where there is none:
// deadlines then never pass.
uint64_t clock_ns();

}  // namespace wick::platform
