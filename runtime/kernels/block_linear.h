// BlockLinear: sizes, one weight, and what a SIMD target has for it.
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

// Element i of 4- or 8-bit integers.
inline int block_number(const TensorView& t, int64_t i) {
  switch (t.dtype) {
    case DType::kI8: return t.as<int8_t>()[i];
    case DType::kU8: return t.as<uint8_t>()[i];
    case DType::kI4: return (get_packed(t.data, 4, i) ^ 8) - 8;
    default: return get_packed(t.data, 4, i);
  }
}
// A scale; those of 16 bits count as f32.
template <class T>
T block_scale(const TensorView& t, int64_t i) {
  return t.dtype == DType::kF16 ? static_cast<T>(static_cast<float>(t.as<Half>()[i]))
                                : t.as<T>()[i];
}

// A panel of packed weights: rows of W side by side, `width` of them (whole vectors).
struct BlockPanel {
  const uint32_t* words;  // [k / (32 / bits)][width]: so many k of a row, the first lowest
  const void* scales;     // [blocks][width], f32 or f16
  const uint8_t* zeros;   // [blocks][width]; null: `zero` for all
  float zero;             // these and the weights are of 0 .. 2^bits - 1, whatever their dtype
  bool half;
  int bits;
  int64_t block;
};
constexpr int kBlockRows = 8, kBlockPanels = 4;  // the most of one call
struct BlockDot {
  BlockPanel panel;  // the first of those that lie side by side
  const float* rows[kBlockRows];
  const float* bias;  // of the first column; may be null
  float* out;
  int64_t out_step, k;
  int row_count, panels;  // 1 .. BlockKernels::rows; those but one are of 3 vectors
  int cols;               // of a panel, 1 .. 3 vectors
};
struct BlockKernels {
  int rows;  // the most of one dot
  // out[r][c] = sum over k of rows[r][k] w[k][c], then the bias
  void (*dot)(const BlockDot&);
  // to[k - k0][width] = w for `depth` k from k0, a multiple of the block
  void (*unpack)(const BlockPanel&, int64_t k0, int64_t depth, int width, float* to);
};

}  // namespace wick
