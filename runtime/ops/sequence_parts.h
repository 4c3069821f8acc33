// What SplitToSequence makes of a tensor: shared by its rule and its kernel.
#pragma once

#include "runtime/core/tensor_view.h"
#include "runtime/ops/attrs.h"

namespace wick {

// Element i of an int32 or int64 tensor.
inline int64_t int_at(const TensorView& v, int64_t i) {
  if (v.dtype == DType::kI64) {
    int64_t value;
    __builtin_memcpy(&value, static_cast<const char*>(v.data) + 8 * i, sizeof(value));
    return value;
  }
  int32_t value;
  __builtin_memcpy(&value, static_cast<const char*>(v.data) + 4 * i, sizeof(value));
  return value;
}

struct SequenceParts {
  int axis = 0;
  int64_t size = 0;   // of x along the axis
  int64_t count = 0;  // of parts
  int64_t chunk = 0;  // of each but the last, where `sizes` has none
  TensorView sizes;   // one a part, or absent
  bool keep_axis = true;

  int64_t length(int64_t i) const {
    if (sizes.present()) return int_at(sizes, i);
    return size - i * chunk < chunk ? size - i * chunk : chunk;
  }
  Shape shape(const Shape& x, int64_t i) const {
    Shape s;
    for (int d = 0; d < x.rank(); ++d) {
      if (d != axis) s.push_back(x[d]);
      if (d == axis && keep_axis) s.push_back(length(i));
    }
    return s;
  }
};

// `sizes`: rank 0 or 1, or absent. Its values are checked.
Result<SequenceParts> split_parts(const SplitToSequenceAttrs& attrs, const Shape& x,
                                  const TensorView& sizes);

}  // namespace wick
