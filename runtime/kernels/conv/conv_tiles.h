// The two ways to divide a convolution into register tiles. The forward pass and the input gradient
// share them.
//
//   pixel tiles    rows = output channels, lanes = output pixels. The image is stored as planes in
//                  which a step of one output pixel is a step of one element, so a vector of pixels
//                  is one load at `offset[k]`; the columns between two output rows are computed and
//                  dropped.
//   channel tiles  rows = output pixels (with any stride), lanes = output channels from packed
//                  weights; the tile is transposed when it is stored.
//
// Both give the contract's bits; which one is faster depends on the shape.
#pragma once

#include <cstddef>

#include "runtime/core/thread_pool.h"
#include "runtime/kernels/gemm/tile.h"

namespace wick {

// One group of a convolution, of one image or of several at equal distances: out[c][i][j] =
// epilogue(sum over k of weight(c, k) * x[offset[k] + i * x_row + j * x_col]). Several small maps
// together fill the tiles better and share a pass over the weights.
struct ConvTiles {
  const TileKernels* kernels = nullptr;
  bool by_channel = false;  // channel tiles
  int64_t images = 1;
  int64_t x_image = 0, out_image = 0;
  const float* x = nullptr;
  bool x_has_slack = false;      // readable for one vector tile beyond the last pixel
  int64_t x_row = 0, x_col = 0;  // pixel tiles need x_col == 1
  const int32_t* offset = nullptr;
  int64_t k = 0;
  const float* weights = nullptr;  // from conv_pack_weights
  int64_t channels = 0;
  int64_t rows = 0, cols = 0;  // output pixels
  float* out = nullptr;
  int64_t out_channel = 0, out_row = 0, out_col = 1;
  // Its pointers are relative to this group's first channel and to `out`. If outputs are not
  // contiguous (out_col, or in channel tiles rows with gaps), it can only have a bias.
  Epilogue epilogue;
};

// Returns how many images of `pixels` outputs are worth processing together.
int64_t conv_image_block(int64_t images, int64_t pixels, int64_t image_floats);

// Returns the columns of a panel of channel tiles: vectors are spread evenly over the panels.
int64_t conv_panel_cols(const TileKernels& kernels, int64_t channels);
size_t conv_weight_floats(const TileKernels& kernels, bool by_channel, int64_t channels, int64_t k);
// weight(c, k) is w[c * w_channel + tap[k]]; without a table, w[c * w_channel + k]. unit: the
// channels of a panel, where `channels` is only a part of them; 0: derived from `channels`.
void conv_pack_weights(const TileKernels& kernels, bool by_channel, const float* w,
                       int64_t w_channel, const int32_t* tap, int64_t channels, int64_t k,
                       float* packed, int64_t unit = 0);

// Returns the number of independent tasks, at least `wanted` where the shape allows.
int64_t conv_tile_tasks(const ConvTiles& c, int wanted);
// Returns the floats of scratch for one running task.
size_t conv_tile_scratch_floats(const ConvTiles& c);
void conv_tile_run(const ConvTiles& c, int wanted, int64_t task, float* scratch);

// Returns whether channel tiles are faster, judging from the shape.
bool conv_prefers_channels(const TileKernels& kernels, int64_t channels, int64_t k, int64_t rows,
                           int64_t cols, int64_t x_row);

}  // namespace wick
