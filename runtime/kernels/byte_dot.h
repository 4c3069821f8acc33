// Products of bytes by aarch64's dot product instructions, chosen at run time: four products of
// signed bytes a lane.
#pragma once

#include "runtime/kernels/byte_tiles.h"

namespace wick {

#if defined(__aarch64__)
constexpr int kDotRows = 4, kDotColumns = 16;
bool has_dot();
void dot_tile(const ByteTile& t);
void dot_zip(const uint8_t* const* rows, int64_t n, uint8_t flip, bool weights, uint32_t* out);
#endif

}  // namespace wick
