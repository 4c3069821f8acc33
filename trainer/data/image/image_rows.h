// An image as the encoders of PNG and JPEG take it; internal.
#pragma once

#include <vector>

#include "trainer/tensor/tensor.h"

namespace wick::data {

struct ImageRows {
  int64_t channels = 0, height = 0, width = 0;
  std::vector<uint8_t> bytes;  // [H, W, C]

  size_t row_bytes() const { return static_cast<size_t>(width * channels); }
  const uint8_t* row(int64_t y) const {
    return bytes.data() + static_cast<size_t>(y) * row_bytes();
  }
};

// Returns the rows of a uint8 tensor [C, H, W], any strides, any device. Error, in the name of
// `op`: another dtype or rank, more channels, no pixels, more bytes than an encoder takes.
ImageRows image_rows(const char* op, const Arg& image, int64_t most_channels);

}  // namespace wick::data
