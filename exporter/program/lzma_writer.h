// Writes LZMA streams as runtime/program/lzma.h reads them.
#pragma once

#include <cstdint>
#include <vector>

#include "runtime/core/span.h"

namespace wick::lzma {

// Returns the stream; the same bytes give the same stream everywhere.
std::vector<uint8_t> encode(Span<const uint8_t> bytes);

}  // namespace wick::lzma
