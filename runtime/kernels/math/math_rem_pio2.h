#pragma once

#include <cstddef>
#include <cstdint>

namespace wick {

// Reduces any x: x = (4 j + quadrant) * pi/2 + hi + lo for some integer j, |hi + lo| <= pi/4; hi is
// NaN for NaN and inf. It uses integer arithmetic, hence gives the same everywhere; sin and cos use
// it for large x.
void rem_pio2_large(const float* x, float* hi, float* lo, int32_t* quadrant, size_t n);

}  // namespace wick
