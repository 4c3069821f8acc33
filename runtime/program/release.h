// Releases memory pages of a mapped file that are no longer needed.
#pragma once

#include "runtime/program/program.h"

namespace wick {

// Returns whether these bytes are part of a file that the program maps.
bool is_mapped(const Program& program, const void* data, size_t bytes);
// Releases the pages within these bytes, where they are part of a file that the program maps: a
// later read loads them from the file again. Bytes that the caller gave are left alone.
void release_pages(const Program& program, const void* data, size_t bytes);

}  // namespace wick
