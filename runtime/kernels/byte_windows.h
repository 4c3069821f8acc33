// A convolution of bytes where each channel has its own kernel, over x as it lies: up to 16 outputs
// that follow each other find all that a row of their kernels reads within 64 bytes, from which one
// shuffle brings four taps of each side by side. A tap beside its row is masked; those above and
// below the plane are outside of its bytes, which are not loaded.
#pragma once

#include "runtime/kernels/byte_conv.h"

namespace wick {

constexpr int kWindow = 64;  // bytes

// Outputs that are stored together: those of up to four vectors, where mask has 16 bits of each.
struct ByteWindowBlock {
  uint64_t mask;
  int32_t y;        // where the first of them goes
  int32_t vectors;  // 1 .. 4
  int32_t x[4];     // where a vector's window of the first row of the kernel begins
  int16_t kind[4];
  int32_t clip;  // where a window reaches beyond the plane: its first mask; else -1
};

// Which outputs lie in a vector depends on the column of the first alone.
struct ByteWindowStart {
  int16_t kind, outputs;
  int32_t first;  // its window, from the row of x that the first output begins at
};
constexpr int64_t kWindowKinds = 128;     // vectors that lie alike
constexpr int64_t kWindowColumns = 4096;  // the most of an output

struct ByteWindowShape {
  ByteAxis h, w;

  int64_t quads() const { return (w.taps + 3) / 4; }
  int64_t words() const { return h.taps * quads(); }
  int64_t row_step() const { return h.dilation * w.in; }
};
// With starts alone, the others null, they are counted.
struct ByteWindowTables {
  ByteWindowStart* starts;  // [columns of the output]
  uint8_t* order;           // [kWindowKinds][quads][64]: the byte of the window; 64-byte aligned
  uint64_t* valid;          // [kWindowKinds][quads]: bytes that are taps
  ByteWindowBlock* blocks;
  uint64_t* clips;  // of a block that has them, [4][taps of h]
};
struct ByteWindowCounts {
  int64_t blocks = 0, clips = 0, vectors = 0;
  bool fits = true;  // else too few outputs have a window in common, or there are too many kinds
};
ByteWindowCounts fill_byte_windows(const ByteWindowShape& s, const ByteWindowTables& to);

// `planes` channels of an image one after the other, each with its own weights.
struct ByteWindows {
  const uint8_t* x;
  int64_t x_plane;  // bytes
  uint8_t* y;
  int64_t y_plane, planes;
  const ByteWindowBlock* blocks;
  int64_t block_count;
  const uint8_t* order;
  const uint64_t *valid, *clips;
  int64_t rows, quads, row_step;  // of the kernel
  const uint32_t* weights;        // [plane][rows][quads]
  const int32_t* add;             // of each plane
  const float* multiplier;        // of each plane
  uint8_t x_zero, flip;           // bytes of x are read XOR flip
  float lo, hi;
  int32_t zero;
  int32_t* sums;  // where not null they are all that is made of one plane, 64 a block
};

}  // namespace wick
