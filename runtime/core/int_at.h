// How the runtime reads integers that say something about shapes: axes, sizes, pads, indices. A
// rule accepts them in any integer dtype, so every reader must take every integer dtype as well;
// one that does not reads beyond the tensor or reads other numbers than the rule did. tests/layers
// finds readers that do it by themselves.
#pragma once

#include "runtime/core/tensor_view.h"

namespace wick {

// int8 to int32, uint8 to uint64; 0 of what is no integer.
inline int64_t narrow_int_at(const TensorView& v, int64_t offset) {
  switch (v.dtype) {
    case DType::kI32: return v.as<int32_t>()[offset];
    case DType::kI16: return v.as<int16_t>()[offset];
    case DType::kI8: return int64_t{v.as<int8_t>()[offset]};
    case DType::kU64: return static_cast<int64_t>(v.as<uint64_t>()[offset]);
    case DType::kU32: return v.as<uint32_t>()[offset];
    case DType::kU16: return v.as<uint16_t>()[offset];
    case DType::kU8: return v.as<uint8_t>()[offset];
    default: return 0;
  }
}

// The integer that lies `offset` elements behind the first of an integer tensor. uint64 wraps, as
// it does for the rules. `offset` must lie within the tensor.
inline int64_t int_at(const TensorView& v, int64_t offset) {
  return v.dtype == DType::kI64 ? v.as<int64_t>()[offset] : narrow_int_at(v, offset);
}

}  // namespace wick
