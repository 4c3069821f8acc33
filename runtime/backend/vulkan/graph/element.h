// The type of a tensor's elements in shaders.
#pragma once

#include "runtime/backend/vulkan/graph/dispatch_builder.h"

namespace wick::vulkan {

// Returns the WICK_TYPE_ number; -1 if no shader unpacks the dtype.
constexpr int element_type(DType dtype) {
  switch (dtype) {
    case DType::kF32: return WICK_TYPE_F32;
    case DType::kI32: return WICK_TYPE_I32;
    case DType::kU32: return WICK_TYPE_U32;
    case DType::kF16: return WICK_TYPE_F16;
    case DType::kBF16: return WICK_TYPE_BF16;
    case DType::kI16: return WICK_TYPE_I16;
    case DType::kU16: return WICK_TYPE_U16;
    case DType::kI8: return WICK_TYPE_I8;
    case DType::kU8: return WICK_TYPE_U8;
    case DType::kBool: return WICK_TYPE_BOOL;
    case DType::kF8E4M3FN: return WICK_TYPE_F8E4M3FN;
    case DType::kF8E4M3FNUZ: return WICK_TYPE_F8E4M3FNUZ;
    case DType::kF8E5M2: return WICK_TYPE_F8E5M2;
    case DType::kF8E5M2FNUZ: return WICK_TYPE_F8E5M2FNUZ;
    case DType::kF8E8M0: return WICK_TYPE_F8E8M0;
    case DType::kU4: return WICK_TYPE_U4;
    case DType::kI4: return WICK_TYPE_I4;
    case DType::kF4E2M1: return WICK_TYPE_F4E2M1;
    case DType::kU2: return WICK_TYPE_U2;
    case DType::kI2: return WICK_TYPE_I2;
    case DType::kI64: return WICK_TYPE_I64;
    case DType::kU64: return WICK_TYPE_U64;
    case DType::kF64: return WICK_TYPE_F64;
    default: return -1;
  }
}
constexpr bool has_type(DType dtype) { return element_type(dtype) >= 0; }
constexpr uint32_t type_number(DType dtype) { return static_cast<uint32_t>(element_type(dtype)); }

constexpr bool is_16_bit_float(DType dtype) {
  return dtype == DType::kF16 || dtype == DType::kBF16;
}

// Returns whether elements can be moved without interpretation: a power of two of bits, at most two
// words.
constexpr bool is_movable(DType dtype) {
  return dtype != DType::kNone && !is_container(dtype) && dtype_bits(dtype) <= 64;
}
inline uint32_t log_bits(DType dtype) {
  return static_cast<uint32_t>(std::countr_zero(static_cast<uint32_t>(dtype_bits(dtype))));
}
// Returns the number of words for n elements that share words: one invocation per word.
inline int64_t words_of(DType dtype, int64_t n) {
  const int bits = dtype_bits(dtype);
  if (bits == 0 || bits >= 32) return n;
  const int64_t per = 32 / bits;
  return (n + per - 1) / per;
}

}  // namespace wick::vulkan
