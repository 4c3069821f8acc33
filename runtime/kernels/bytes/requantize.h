// The one rule that converts sums of bytes back to bytes: the same IEEE float32 operations on every
// target, hence the same integers (docs/numerics.md, "Integers").
#pragma once

#include <cmath>

#include "runtime/core/tensor_view.h"

namespace wick {

// The range of a byte tensor: [lo, hi], both minus its zero point, and the zero point.
struct ByteRange {
  float lo, hi;
  int32_t zero;
};
inline ByteRange byte_range(DType t, int32_t zero) {
  const int32_t lo = t == DType::kI8 ? -128 : 0;
  return {static_cast<float>(lo - zero), static_cast<float>(lo + 255 - zero), zero};
}

// Converts `real` steps from the zero point to a byte: clamps before rounding, so that the rounded
// number is small.
inline int32_t to_byte(float real, const ByteRange& to) {
  const float kept = real < to.lo ? to.lo : real > to.hi ? to.hi : real;
  return static_cast<int32_t>(std::nearbyintf(kept)) + to.zero;
}
inline int32_t requantize(int32_t sum, float multiplier, const ByteRange& to) {
  return to_byte(static_cast<float>(sum) * multiplier, to);
}
inline void store_byte(const TensorView& y, int64_t i, int32_t v) {
  static_cast<uint8_t*>(y.data)[i] = static_cast<uint8_t>(v);
}

// Returns whether multiplying a sum by this scale cannot give NaN.
inline bool is_scale(float s) { return s > 0 && std::isfinite(s); }
// For the ratio s_x / s_y of an operand of a sum: the sum of the largest operands must be finite,
// because two infinities could give NaN.
inline bool is_sum_ratio(float ratio) { return std::isfinite(512 * ratio); }
// Returns (a b) / y; the quotient must be finite as well.
inline float scale_ratio(float a, float b, float y) {
  const float product = a * b;
  return product / y;
}

}  // namespace wick
