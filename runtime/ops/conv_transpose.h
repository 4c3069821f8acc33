// Sizes of a transposed convolution along one spatial dim, for its rule and its kernels.
#pragma once

#include "runtime/ops/attrs.h"

namespace wick {

// Returns the begin pad that follows from a given output size: how much is cut off before the first
// output.
inline int64_t implied_pad(const ConvTransposeAttrs& a, int64_t in, int64_t kernel, int64_t out,
                           int i) {
  const int64_t reach = (kernel - 1) * a.conv.dilations.at_or(i, 1) + 1;
  const int64_t full = a.conv.strides.at_or(i, 1) * (in - 1) + a.output_padding.at_or(i, 0) + reach;
  const int64_t total = full > out ? full - out : 0;
  return a.auto_pad == static_cast<int64_t>(AutoPad::kSameUpper) ? total / 2 : total - total / 2;
}

inline int64_t transposed_pad(const ConvTransposeAttrs& a, int64_t in, int64_t kernel, int64_t out,
                              int i) {
  const bool follows = !a.output_shape.empty() || a.auto_pad != 0;
  return follows ? implied_pad(a, in, kernel, out, i) : a.conv.pads.at_or(i, 0);
}

}  // namespace wick
