// The dtype parameters of shaders that use element.glsl.
#pragma once

#include "runtime/backend/vulkan/graph/dispatch_builder.h"

namespace wick::vulkan {

struct Element {
  uint32_t type = WICK_TYPE_U8, wide = WICK_WIDE_NONE;
};

// Returns false for elements that are neither whole words nor divide a word.
inline bool is_element(DType dtype) {
  const int bits = dtype_bits(dtype);
  return bits == 8 || bits == 16 || bits == 32 || bits == 64;
}

// Dtypes without arithmetic in shaders use an integer type of the same size.
inline Element element_of(DType dtype) {
  switch (dtype) {
    case DType::kF32: return {WICK_TYPE_F32};
    case DType::kI32: return {WICK_TYPE_I32};
    case DType::kF16: return {WICK_TYPE_F16};
    case DType::kBF16: return {WICK_TYPE_BF16};
    case DType::kI16: return {WICK_TYPE_I16};
    case DType::kI8: return {WICK_TYPE_I8};
    case DType::kBool: return {WICK_TYPE_BOOL};
    case DType::kI64: return {WICK_TYPE_U32, WICK_WIDE_I64};
    case DType::kU64: return {WICK_TYPE_U32, WICK_WIDE_U64};
    case DType::kF64: return {WICK_TYPE_U32, WICK_WIDE_F64};
    default: break;
  }
  switch (dtype_bits(dtype)) {
    case 8: return {WICK_TYPE_U8};
    case 16: return {WICK_TYPE_U16};
    case 32: return {WICK_TYPE_U32};
    default: return {WICK_TYPE_U32, WICK_WIDE_BITS};
  }
}

// Returns whether shaders can add and multiply the dtype.
inline bool has_arithmetic(DType dtype) {
  return is_int(dtype) || is_float(dtype) || dtype == DType::kBool;
}

inline void add_element(Dispatch& d, DType dtype) {
  const Element e = element_of(dtype);
  add_spec(d, e.type);
  add_spec(d, e.wide);
}

}  // namespace wick::vulkan
