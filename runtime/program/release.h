// What was read of a mapped file once need not stay in memory.
#pragma once

#include "runtime/program/program.h"

namespace wick {

// Whether this is part of a file that the program maps.
bool is_mapped(const Program& program, const void* data, size_t bytes);
// Lets go of the pages that lie within these bytes, where they are part of a file that the program
// maps: whoever reads them again gets them from the file. Bytes that the caller gave stay.
void release_pages(const Program& program, const void* data, size_t bytes);

}  // namespace wick
