// Small numbers that lowering reads.
#pragma once

#include "runtime/backend/vulkan/graph/dispatch_builder.h"
#include "runtime/core/int_at.h"

namespace wick::vulkan {

// An optional input of one integer, else `attr`.
inline Result<int64_t> known_number(const OpCall& call, size_t i, int64_t attr) {
  if (i >= call.in.size() || !call.in[i].present()) return attr;
  const TensorView& v = call.in[i];
  if (v.data == nullptr) return unsupported("a number that only a run knows");
  if (v.numel() != 1 || !is_int(v.dtype)) return unsupported("an input that is not one integer");
  return int_at(v, 0);
}

}  // namespace wick::vulkan
