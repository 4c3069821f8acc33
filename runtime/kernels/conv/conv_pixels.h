// Moves pixels between images, plain or in blocks of channels, and scratch in which a pixel's
// channels lie together.
#pragma once

#include <cstdint>

#include "runtime/core/tensor_view.h"
#include "runtime/kernels/gemm/tile.h"

namespace wick {

struct Pixels {
  int64_t channels = 0, h = 0, w = 0;
  int64_t block = 0;  // as TensorView::block

  explicit Pixels(const TensorView& v);
  // Returns the offset of a pixel; in blocks, of a block's first channel.
  int64_t at(int64_t image, int64_t channel, int64_t row, int64_t col) const;
};

// A part of an image: channels from `channel` on (in blocks, a block's first one), pixels from
// (row, col) on.
struct PixelPart {
  int64_t image = 0;
  int64_t channel = 0, channels = 0;
  int64_t row = 0, col = 0, rows = 0, cols = 0;
};

// Copies a part, row after row of pixels that are `pixel` floats apart, with zeros outside the
// image. What lies between the last channel and the next pixel stays as it is.
void load_pixels(const TileKernels& t, const Pixels& p, const float* x, const PixelPart& part,
                 float* to, int64_t pixel);
// Writes a part, which is within the image, with the epilogue; rows of `from` are from_row apart,
// and the lanes beyond the last channel of a block become zeros.
void store_pixels(const TileKernels& t, const Pixels& p, float* y, const PixelPart& part,
                  const float* from, int64_t from_row, int64_t pixel, const Epilogue& epilogue);

}  // namespace wick
