// Which dtypes quantized numbers have.
#pragma once

#include "runtime/core/dtype.h"

namespace wick {

constexpr bool is_byte(DType t) { return t == DType::kI8 || t == DType::kU8; }
// Of weights in blocks.
constexpr bool is_block_type(DType t) { return is_byte(t) || t == DType::kI4 || t == DType::kU4; }

// What QuantizeLinear divides in: the scale's dtype, where that is a float that rounds. An integer
// scale divides exactly, a power of two in x's own dtype.
constexpr DType division_dtype(DType x, DType scale, int64_t precision) {
  if (precision != 0) return static_cast<DType>(precision);
  if (scale == DType::kI32) return DType::kF64;
  if (scale == DType::kF8E8M0) return x == DType::kI32 ? DType::kF32 : x;
  return scale;
}

}  // namespace wick
