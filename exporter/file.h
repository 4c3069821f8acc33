// Files that are there whole or not at all.
#pragma once

#include <cstdint>
#include <string>

#include "runtime/core/span.h"

namespace wick {

// Writes beside `path`, syncs, renames over it. Throws Error (kIo) with the reason; the old file is
// then untouched and nothing is left beside it.
void write_file_atomically(const std::string& path, Span<const uint8_t> bytes);

}  // namespace wick
