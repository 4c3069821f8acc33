#pragma once

#include <cstddef>
#include <cstdint>

namespace wick {

// x = (4 j + quadrant) * pi/2 + hi + lo for some integer j, |hi + lo| <= pi/4, any x; hi is NaN for
// NaN and inf. Integer arithmetic, hence the same everywhere: what sin and cos fall back to for
// large x.
void rem_pio2_large(const float* x, float* hi, float* lo, int32_t* quadrant, size_t n);

}  // namespace wick
