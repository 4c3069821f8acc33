// Convolutions over values whose channels lie in blocks of a vector's lanes
// (TensorView::block). The channels of a pixel are vectors, so a tile of some pixels by up to three
// vectors of output channels stays in registers while k runs, x is read as broadcasts at any
// stride, and results are stored as they are: nothing is turned, and no vector is half empty
// because a map is small. The order of sums is the contract's, as that of tile.h.
#pragma once

#include <cstddef>
#include <cstdint>

#include "runtime/core/tensor_view.h"
#include "runtime/kernels/tile.h"

// 0: nothing of this is built, where one lane runs or there is little memory.
#if WICK_SMALL || defined(HWY_COMPILE_ONLY_SCALAR)
#define WICK_BLOCKS 0
#else
#define WICK_BLOCKS 1
#endif

namespace wick {

constexpr int kBlockedVectors = 2;  // of a panel of weights

// Outputs of some rows of a map, for one panel of channels.
struct BlockedArea {
  const float* x;         // of the first output, at offset 0
  int64_t x_step, x_row;  // from an output to the next one of its row, and of its column, in floats
  int64_t rows, cols;
  const int32_t* offset;  // by k
  int64_t k;
  // At each k, kBlockedVectors vectors; of a third one, the first of the next panel.
  const float *weights, *third;
  int vectors;       // that are wanted: 1 to 3
  float* y;          // outputs follow each other
  int64_t y_vector;  // from a vector of channels to the next
  bool resume;       // y holds the sums of an earlier part of k
  // Of the last part: bias, scale and shift, residual (which lies as y) and clip; other activations
  // are left to the caller. Null: sums are stored.
  const Epilogue* end;
  int64_t channel;  // the first one, of `channels` that the epilogue has
  int64_t channels;
};

// Output rows [row0, row1) of one block of channels, each a map of its own.
struct BlockedDepthwise {
  const float* x;  // the block of the image
  int64_t h, w;
  int64_t oh, ow;
  int64_t kh, kw, stride_h, stride_w, dilation_h, dilation_w, pad_top, pad_left;
  const float* weights;  // a vector a tap
  float* y;              // of the block, as the residual
  const Epilogue* end;
  int64_t channel, channels;
};

struct BlockedKernels {
  int lanes;  // of a block; 0: none for this CPU
  void (*area)(const BlockedArea&);
  void (*depthwise)(const BlockedDepthwise&, int64_t row0, int64_t row1);
};
const BlockedKernels& blocked_kernels();

// Whether a value lies in blocks as these kernels read and write them.
inline bool is_blocked(const BlockedKernels& t, const TensorView& v) {
  return t.lanes != 0 && v.block == t.lanes && v.rank() == 4 && v.dtype == DType::kF32;
}
// Blocks of channels, and the floats of one.
inline int64_t blocks_of(const TensorView& v) { return (v.shape[1] + v.block - 1) / v.block; }
inline int64_t block_floats(const TensorView& v) { return v.shape[2] * v.shape[3] * v.block; }

}  // namespace wick
