// The guard of mapped files: runtime/program/guard.h says what it is for.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "runtime/platform/system.h"

namespace wick::platform {

constexpr int kMostGuarded = 256;  // mappings at one time

// Once a process does; again is fine. 0, or the value of errno that says why it cannot be.
int install_fault_guard();
// From now on a fault within these bytes sets *lost, and zeros are read there. Installs the guard
// where nobody has. *place: for unguard(); -1 where all places are taken.
int guard_pages(const void* begin, size_t bytes, std::atomic<uint32_t>* lost, int* place);
void unguard(int place);  // -1 is fine

}  // namespace wick::platform
