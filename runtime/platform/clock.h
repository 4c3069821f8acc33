// The steady clock.
#pragma once

#include <cstdint>

#include "runtime/platform/system.h"

namespace wick::platform {

// Nanoseconds since some moment. Without a system it is what the program's own
// extern "C" uint64_t wick_clock_ns(void) says, and 0 for ever where it has none: then deadlines
// never pass.
uint64_t clock_ns();

}  // namespace wick::platform
