// Memory of the system: blocks, and files that are mapped.
#pragma once

#include <cstddef>

#include "runtime/platform/system.h"

namespace wick::platform {

// Null: there is none. `align` is a power of two; any number of bytes, also 0.
void* allocate(size_t bytes, size_t align);
void deallocate(void* p);

// The first bytes of an open file, to be read in place. 0, or the value of errno that says why not.
int map_file(int fd, size_t bytes, const void** at);
void unmap(const void* at, size_t bytes);
// Lets go of the whole pages within a part of a mapped file: whoever reads them again gets them
// from the file.
void release_pages(const void* data, size_t bytes);

}  // namespace wick::platform
