// Copies the values of a session's internal tensors, whose channels may be in blocked layout
// (TensorView::block), to the plain layout.
#pragma once

#include <cstring>

#include "runtime/core/tensor_view.h"

namespace wick {

// Copies the elements of v, which is contiguous or blocked, to `to`: row-major without gaps,
// v.numel() elements.
inline void copy_plain(const TensorView& v, void* to) {
  if (v.block == 0) {
    if (v.nbytes() != 0) memcpy(to, v.data, v.nbytes());
    return;
  }
  const size_t size = static_cast<size_t>(dtype_bits(v.dtype)) / 8;
  const int64_t channels = v.shape[1], pixels = v.shape[2] * v.shape[3], block = v.block;
  const int64_t blocks = (channels + block - 1) / block;
  const auto* from = static_cast<const char*>(v.data);
  auto* out = static_cast<char*>(to);
  for (int64_t i = 0; i < v.shape[0] * channels; ++i) {
    const int64_t image = i / channels, c = i % channels;
    int64_t at = (image * blocks + c / block) * pixels * block + c % block;
    for (int64_t p = 0; p < pixels; ++p, at += block, out += size)
      memcpy(out, from + static_cast<size_t>(at) * size, size);
  }
}

}  // namespace wick
