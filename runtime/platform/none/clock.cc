#include "runtime/platform/clock.h"

// A weak default, which the program's own function replaces.
extern "C" __attribute__((weak)) uint64_t wick_clock_ns(void) { return 0; }

namespace wick::platform {

uint64_t clock_ns() { return wick_clock_ns(); }

}  // namespace wick::platform
