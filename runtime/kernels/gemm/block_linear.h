// BlockLinear: sizes, access to one weight, and the interface of the SIMD targets.
#pragma once

#include "runtime/core/half.h"
#include "runtime/core/narrow.h"
#include "runtime/kernels/kernel.h"

namespace wick {

struct BlockSizes {
  int64_t m = 1, n, k, block, blocks;
  int bits;

  BlockSizes(Span<const TensorView> in, const BlockLinearAttrs& a)
      : n(in[1].dim(0)),
        k(in[1].dim(1)),
        block(a.block_size),
        blocks(in[2].dim(1)),
        bits(dtype_bits(in[1].dtype)) {
    for (int i = 0; i + 1 < in[0].rank(); ++i) m *= in[0].dim(i);
  }
};

// Returns element i of a tensor of 4- or 8-bit integers.
inline int block_number(const TensorView& t, int64_t i) {
  switch (t.dtype) {
    case DType::kI8: return t.as<int8_t>()[i];
    case DType::kU8: return t.as<uint8_t>()[i];
    case DType::kI4: return (get_packed(t.data, 4, i) ^ 8) - 8;
    default: return get_packed(t.data, 4, i);
  }
}
// Returns a scale; 16-bit scales are converted to f32.
template <class T>
T block_scale(const TensorView& t, int64_t i) {
  return t.dtype == DType::kF16 ? static_cast<T>(static_cast<float>(t.as<Half>()[i]))
                                : t.as<T>()[i];
}

// A panel of packed weights: `width` rows of W (whole vectors), interleaved.
struct BlockPanel {
  const uint32_t* words;  // [k / (32 / bits)][width]: consecutive k of a row, the first lowest
  const void* scales;     // [blocks][width], f32 or f16
  const uint8_t* zeros;   // [blocks][width]; null: `zero` for all
  float zero;             // zero points and weights are in 0 .. 2^bits - 1 for every dtype
  bool half;
  int bits;
  int64_t block;
};
constexpr int kBlockRows = 8, kBlockPanels = 4;  // maximum of one call
struct BlockDot {
  BlockPanel panel;  // the first of `panels` consecutive ones
  const float* rows[kBlockRows];
  const float* bias;  // for the first column; may be null
  float* out;
  int64_t out_step, k;
  int row_count, panels;  // 1 .. BlockKernels::rows; if panels > 1, each has 3 vectors
  int cols;               // of a panel, 1 .. 3 vectors
};
struct BlockKernels {
  int rows;  // maximum rows of one dot
  // out[r][c] = sum over k of rows[r][k] * w[k][c], plus the bias
  void (*dot)(const BlockDot&);
  // to[k - k0][width] = w for `depth` k from k0, a multiple of the block size
  void (*unpack)(const BlockPanel&, int64_t k0, int64_t depth, int width, float* to);
};

}  // namespace wick
