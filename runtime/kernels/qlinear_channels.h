// What the rows of QLinearConv know of each output channel.
#pragma once

#include <algorithm>

#include "runtime/kernels/qlinear.h"

namespace wick {

struct ByteChannels {
  float* multiplier;
  int32_t* add;     // bias and what zero points add whatever the pixel
  int32_t* factor;  // of the sum of a pixel's bytes
  bool any_factor = false;
};

// `k` numbers a channel; x_zero is that of x as it is stored, sums are of the weights so.
inline void fill_byte_channels(Span<const TensorView> in, const ProductScales& scales, int64_t k,
                               int32_t x_zero, const int32_t* sums, int64_t count,
                               ByteChannels* to) {
  const int w_flip = in[3].dtype == DType::kU8 ? 128 : 0;
  const int32_t* bias = has_input(in, 8) ? in[8].as<int32_t>() : nullptr;
  for (int64_t o = 0; o < count; ++o) {
    const int32_t w_zero = byte_at(in[5], in[5].numel() == 1 ? 0 : o) - w_flip;
    to->any_factor = to->any_factor || w_zero != 0;
    const uint32_t products = static_cast<uint32_t>(k) * static_cast<uint32_t>(w_zero);
    uint32_t all = static_cast<uint32_t>(x_zero) * (products - static_cast<uint32_t>(sums[o]));
    if (bias != nullptr) all += static_cast<uint32_t>(bias[o]);
    to->multiplier[o] = scales.at(o);
    to->add[o] = static_cast<int32_t>(all);
    to->factor[o] = -w_zero;
  }
}

// Pixels [first, first + n) of lines of `line` numbers, the first `out` of which are of the output:
// which those are, and how many are before them.
inline uint64_t kept_pixels(int64_t line, int64_t out, int64_t first, int64_t n, int64_t* before) {
  *before = first / line * out + std::min(first % line, out);
  uint64_t mask = 0;
  for (int64_t i = 0; i < n;) {
    const int64_t column = (first + i) % line;
    const int64_t run = std::min(n - i, (column < out ? out : line) - column);
    if (column < out) mask |= (run == 64 ? ~uint64_t{0} : (uint64_t{1} << run) - 1) << i;
    i += run;
  }
  return mask;
}

}  // namespace wick
