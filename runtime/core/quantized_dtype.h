// The dtypes of quantized numbers.
#pragma once

#include "runtime/core/dtype.h"

namespace wick {

constexpr bool is_byte(DType t) { return t == DType::kI8 || t == DType::kU8; }
// Returns whether weights quantized in blocks may have this dtype.
constexpr bool is_block_type(DType t) { return is_byte(t) || t == DType::kI4 || t == DType::kU4; }

// Returns the dtype in which QuantizeLinear divides: the scale's, where it is a float that rounds.
// An integer scale divides exactly (f64), a power of two in x's own dtype.
constexpr DType division_dtype(DType x, DType scale, int64_t precision) {
  if (precision != 0) return static_cast<DType>(precision);
  if (scale == DType::kI32) return DType::kF64;
  if (scale == DType::kF8E8M0) return x == DType::kI32 ? DType::kF32 : x;
  return scale;
}

}  // namespace wick
