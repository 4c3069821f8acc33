// The system's memory: allocated blocks, and mapped files.
#pragma once

#include <cstddef>

#include "runtime/platform/system.h"

namespace wick::platform {

// Returns null when there is no memory. `align` is a power of two; bytes may be 0.
void* allocate(size_t bytes, size_t align);
void deallocate(void* p);

// Maps the first bytes of an open file for reading in place. Returns 0 or an errno.
int map_file(int fd, size_t bytes, const void** at);
void unmap(const void* at, size_t bytes);
// Releases the whole pages within a part of a mapped file: a later read loads them from the file
// again.
void release_pages(const void* data, size_t bytes);

}  // namespace wick::platform
