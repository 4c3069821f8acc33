// The numbers per output channel that the rows of QLinearConv use.
#pragma once

#include <algorithm>

#include "runtime/kernels/bytes/qlinear.h"
#include "runtime/kernels/scratch.h"

namespace wick {

struct ByteChannels {
  float* multiplier;
  int32_t* add;     // bias, and zero point terms that do not depend on the pixel
  int32_t* factor;  // multiplies the sum of a pixel's bytes
  bool any_factor = false;
};
// `bytes`: the size of each of the three.
inline ByteChannels take_channels(ScratchPieces* scratch, size_t bytes) {
  return {scratch->take<float>(bytes), scratch->take<int32_t>(bytes),
          scratch->take<int32_t>(bytes)};
}

// to[i] = off - the zero point of channel i.
inline void fill_byte_zeros(const TensorView& zeros, int32_t off, int64_t n, int32_t* to) {
  if (zeros.numel() == 1) {
    std::fill(to, to + n, off - byte_at(zeros, 0));
  } else if (zeros.dtype == DType::kI8) {
    for (int64_t i = 0; i < n; ++i) to[i] = off - zeros.as<int8_t>()[i];
  } else {
    for (int64_t i = 0; i < n; ++i) to[i] = off - zeros.as<uint8_t>()[i];
  }
}

// `k`: numbers per channel. x_zero belongs to x as it is stored, and so do the weights' sums.
inline void fill_byte_channels(Span<const TensorView> in, const ProductScales& scales, int64_t k,
                               int32_t x_zero, const int32_t* sums, int64_t count,
                               ByteChannels* to) {
  const int w_flip = in[3].dtype == DType::kU8 ? 128 : 0;
  const int32_t* bias = has_input(in, 8) ? in[8].as<int32_t>() : nullptr;
  scales.fill(count, to->multiplier);
  fill_byte_zeros(in[5], w_flip, count, to->factor);
  int32_t any = 0;
  for (int64_t o = 0; o < count; ++o) any |= to->factor[o];
  to->any_factor = any != 0;
  const auto zero = static_cast<uint32_t>(x_zero), all_k = static_cast<uint32_t>(k);
  for (int64_t o = 0; o < count; ++o) {
    const auto factor = static_cast<uint32_t>(to->factor[o]), sum = static_cast<uint32_t>(sums[o]);
    to->add[o] = static_cast<int32_t>(0 - zero * (all_k * factor + sum));
  }
  for (int64_t o = 0; bias != nullptr && o < count; ++o)
    to->add[o] =
        static_cast<int32_t>(static_cast<uint32_t>(to->add[o]) + static_cast<uint32_t>(bias[o]));
}

// Returns the mask of the outputs among pixels [first, first + n) and sets *before to the number of
// outputs before them. Lines have `line` positions, of which only the first `out` are outputs.
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
