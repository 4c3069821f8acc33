// A depthwise convolution of bytes that reads x in place: all that a kernel row reads for up to 16
// consecutive outputs is within a window of 64 bytes, from which one shuffle puts four taps of each
// output into a lane. Taps beside their row are masked; bytes above and below the plane are not
// loaded.
#pragma once

#include "runtime/kernels/bytes/byte_conv.h"

namespace wick {

constexpr int kWindow = 64;  // bytes

// Outputs that are stored together: those of up to four vectors, with 16 bits of mask for each.
struct ByteWindowBlock {
  uint64_t mask;
  int32_t y;        // offset of the first output
  int32_t vectors;  // 1 .. 4
  int32_t x[4];     // offset of each vector's window for the first kernel row
  int16_t kind[4];
  int32_t clip;  // index of the first load mask where a window exceeds the plane; else -1
};

// The number of outputs in a vector depends only on the column of its first output.
struct ByteWindowStart {
  int16_t kind, outputs;
  int32_t first;  // offset of its window, relative to the first output's row of x
};
constexpr int64_t kWindowKinds = 128;     // distinct tap patterns
constexpr int64_t kWindowColumns = 4096;  // maximum output width

struct ByteWindowShape {
  ByteAxis h, w;

  int64_t quads() const { return (w.taps + 3) / 4; }
  int64_t words() const { return h.taps * quads(); }
  int64_t row_step() const { return h.dilation * w.in; }
};
// The tables to fill. If all but starts are null, entries are only counted.
struct ByteWindowTables {
  ByteWindowStart* starts;  // [columns of the output]
  uint8_t* order;           // [kWindowKinds][quads][64]: byte index in the window; 64-byte aligned
  uint64_t* valid;          // [kWindowKinds][quads]: mask of bytes that are taps
  ByteWindowBlock* blocks;
  uint64_t* clips;  // for blocks with clip >= 0, [4][taps of h]
};
struct ByteWindowCounts {
  int64_t blocks = 0, clips = 0, vectors = 0;
  bool fits = true;  // false: too few outputs share a window, or there are too many kinds
};
ByteWindowCounts fill_byte_windows(const ByteWindowShape& s, const ByteWindowTables& to);

// Convolves `planes` consecutive channels of an image, each with its own weights.
struct ByteWindows {
  const uint8_t* x;
  int64_t x_plane;  // stride in bytes
  uint8_t* y;
  int64_t y_plane, planes;
  const ByteWindowBlock* blocks;
  int64_t block_count;
  const uint8_t* order;
  const uint64_t *valid, *clips;
  int64_t rows, quads, row_step;  // of the kernel
  const uint32_t* weights;        // [plane][rows][quads]
  const int32_t* add;             // per plane
  const float* multiplier;        // per plane
  uint8_t x_zero, flip;           // bytes of x are read XOR flip
  float lo, hi;
  int32_t zero;
  int32_t* sums;  // not null: only these sums of one plane are written, 64 per block
};

}  // namespace wick
