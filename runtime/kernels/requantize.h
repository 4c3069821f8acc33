// The one rule by which sums of bytes become bytes again: the same operations in IEEE float32 on
// every target, so the same integers (docs/numerics.md, "Integers").
#pragma once

#include <cmath>

#include "runtime/core/tensor_view.h"

namespace wick {

// What a byte tensor stores: [lo, hi], both less its zero point, and that.
struct ByteRange {
  float lo, hi;
  int32_t zero;
};
inline ByteRange byte_range(DType t, int32_t zero) {
  const int32_t lo = t == DType::kI8 ? -128 : 0;
  return {static_cast<float>(lo - zero), static_cast<float>(lo + 255 - zero), zero};
}

// `real` steps from the zero point: clamped first, so that the rounding is of a small number.
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

// Numbers a multiplication by which keeps every sum a number.
inline bool is_scale(float s) { return s > 0 && std::isfinite(s); }
// Of an operand of a sum, s_x / s_y: the largest operands' sum is a number, too; two infinities may
// have none.
inline bool is_sum_ratio(float ratio) { return std::isfinite(512 * ratio); }
// (a b) / y; the quotient, too, must be finite.
inline float scale_ratio(float a, float b, float y) {
  const float product = a * b;
  return product / y;
}

}  // namespace wick
