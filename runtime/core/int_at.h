// Reads the integers that describe shapes: axes, sizes, pads, indices. Shape rules accept them in
// any integer dtype, so every reader must accept every integer dtype as well; a reader that does
// not would read beyond the tensor or read other numbers than the rule did. tests/layers finds code
// that reads them without these functions.
#pragma once

#include "runtime/core/tensor_view.h"

namespace wick {

// Reads int8 to int32 and uint8 to uint64; returns 0 for a dtype that is no integer.
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

// Returns the integer `offset` elements after the first of an integer tensor. uint64 wraps, as it
// does for the shape rules. `offset` must lie within the tensor.
inline int64_t int_at(const TensorView& v, int64_t offset) {
  return v.dtype == DType::kI64 ? v.as<int64_t>()[offset] : narrow_int_at(v, offset);
}

// Calls f(begin, end, p) for pieces of n integers of a tensor from `first` on, with integer i of
// [begin, end) in p[i - begin] as int64. Returns false where `poll` ended it.
template <class Poll, class F>
bool each_ints(Poll& poll, const TensorView& v, int64_t first, int64_t n, F&& f) {
  constexpr int64_t kPiece = 256;
  int64_t copy[kPiece];
  for (int64_t begin = 0; begin < n; begin += kPiece) {
    const int64_t end = n - begin < kPiece ? n : begin + kPiece;
    if (poll(end - begin)) return false;
    const int64_t* p = copy;
    if (v.dtype == DType::kI64) {
      p = v.as<int64_t>() + first + begin;
    } else {
      for (int64_t i = begin; i < end; ++i) copy[i - begin] = narrow_int_at(v, first + i);
    }
    f(begin, end, p);
  }
  return true;
}

}  // namespace wick
