// Handles faults in mapped files; runtime/program/guard.h describes its purpose.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "runtime/platform/system.h"

namespace wick::platform {

constexpr int kMostGuarded = 256;  // mappings at one time

// Installs the handler for the whole process; calling it again is harmless. Returns 0 or an errno.
int install_fault_guard();
// From now on a fault within these bytes sets *lost and maps a page of zeros there. Installs the
// handler if that was not done. *place is what unguard() takes; -1 where all places are taken.
int guard_pages(const void* begin, size_t bytes, std::atomic<uint32_t>* lost, int* place);
void unguard(int place);  // -1 is fine

}  // namespace wick::platform
