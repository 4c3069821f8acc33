// Convolutions over values in blocked layout, whose blocks have one channel per vector lane
// (TensorView::block). The channels of a pixel are vectors, so a tile of some pixels by up to three
// vectors of output channels stays in registers while k runs, x is read by broadcasts at any
// stride, and results are stored without a transpose; small maps leave no vector half empty. Sums
// have the order of the contract, like those of tile.h.
#pragma once

#include <cstddef>
#include <cstdint>

#include "runtime/core/tensor_view.h"
#include "runtime/kernels/gemm/tile.h"

// 0: none of this is built, because the target has one lane or little memory.
#if WICK_SMALL || defined(HWY_COMPILE_ONLY_SCALAR)
#define WICK_BLOCKS 0
#else
#define WICK_BLOCKS 1
#endif

namespace wick {

constexpr int kBlockedVectors = 2;  // per panel of weights

// Products of an output's sum whose weights follow each other.
struct BlockedPiece {
  int32_t count, weights;  // weights: offset of the first ones, in floats
};

// Products of a sum.
struct BlockedTaps {
  const int32_t* x;  // offset for each of them
  int64_t count;
  BlockedPiece first;         // here, as it is mostly the only one
  const BlockedPiece* piece;  // the next ones, whose last may go on
};

// Computes outputs of some rows of a map, for one panel of channels.
struct BlockedArea {
  const float* x;         // input of the first output, at offset 0
  int64_t x_step, x_row;  // strides between outputs of a row, and between rows, in floats
  int64_t rows, cols;
  BlockedTaps taps;
  // For each product, kBlockedVectors vectors; `third` is the first vector of the next panel.
  const float *weights, *third;
  int64_t next_panel;  // floats to the weights that are computed with next
  int vectors;         // number of vectors to compute: 1 to 3
  bool half;           // the last one has channels in its lower half alone
  float* y;
  int64_t y_cols;    // outputs between the rows
  int64_t y_vector;  // stride between vectors of channels
  bool resume;       // y holds the sums of an earlier part of the products
  // For the last part: bias, scale and shift, residual (with the layout of y) and clip; the caller
  // applies other activations. Null: sums are stored.
  const Epilogue* end;
  int64_t channel;  // index of the first one in the epilogue, which has `channels`
  int64_t channels;
};

// Computes output rows [row0, row1) of one block of channels, each channel a map of its own.
struct BlockedDepthwise {
  const float* x;  // the block's plane of the image
  int64_t h, w;
  int64_t oh, ow;
  int64_t kh, kw, stride_h, stride_w, dilation_h, dilation_w, pad_top, pad_left;
  const float* weights;  // one vector per tap
  float* y;              // the block's output; the residual has the same layout
  const Epilogue* end;
  int64_t channel, channels;
};

constexpr int kMostBlock = 16;  // lanes of the widest target

// Makes a block of channels out of channels of other blocks, pixel by pixel.
struct BlockedPick {
  int sources = 0;                       // blocks that channels are taken from, 1 to kMostBlock
  const float* x[kMostBlock];            // the first pixel of each
  int32_t lane[kMostBlock][kMostBlock];  // [source][lane of y]: lane of x; -1: of another source
  float* y;                              // lanes that no source has get any number
  int64_t pixels;
};

struct BlockedKernels {
  int lanes;  // per block; 0: none for this CPU
  void (*area)(const BlockedArea&);
  // Returns whether one of n numbers, whole vectors, is -0.
  bool (*minus_zero)(const float* y, int64_t n);
  void (*depthwise)(const BlockedDepthwise&, int64_t row0, int64_t row1);
  void (*pick)(const BlockedPick&);
};
const BlockedKernels& blocked_kernels();

// Returns whether a value has the blocked layout of these kernels.
inline bool is_blocked(const BlockedKernels& t, const TensorView& v) {
  return t.lanes != 0 && v.block == t.lanes && v.rank() == 4 && v.dtype == DType::kF32;
}
// Returns whether blocks are worthwhile for so many channels: unused lanes of the last block cost
// as much as the others.
inline bool fills_blocks(int64_t lanes, int64_t channels) {
  return 4 * channels >= 3 * ((channels + lanes - 1) / lanes * lanes);
}
// The number of channel blocks, and the floats of one.
inline int64_t blocks_of(const TensorView& v) { return (v.shape[1] + v.block - 1) / v.block; }
inline int64_t block_floats(const TensorView& v) { return v.shape[2] * v.shape[3] * v.block; }

}  // namespace wick
