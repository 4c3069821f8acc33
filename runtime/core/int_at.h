#pragma once

#include "runtime/core/tensor_view.h"

namespace wick {

// The integer that lies `offset` elements behind the first of an int32 or int64 tensor.
inline int64_t int_at(const TensorView& v, int64_t offset) {
  return v.dtype == DType::kI32 ? v.as<int32_t>()[offset] : v.as<int64_t>()[offset];
}

}  // namespace wick
