// The inner loops of f32 matmul and convolution: a small tile of outputs kept in registers while k
// runs.
//
//   out[r][c] = sum over k ascending of fma(row operand r at k, vector operand at k [c], sum)
//
// Lanes lie across c, never across k, so every FMA target gives the same bits. The row operand is
// read as broadcasts through one pointer a row; the vector operand as whole vectors. Either one may
// be addressed by a table of offsets over k, which is how convolution needs no im2col copy.
#pragma once

#include <cstdint>

#include "runtime/ops/attrs.h"

namespace wick {

constexpr int kMaxTileRows = 8;
constexpr int kRowPanels = 3;

struct TileArgs {
  const float* rows[kMaxTileRows];  // row_count valid ones
  const float* vec;                 // readable up to `cols` rounded up to whole vectors, at each k
  float* out;
  int64_t row_step;  // from k to k + 1, in elements
  int64_t vec_step;
  int64_t out_step;           // from row to row
  const int32_t* row_offset;  // by k; replaces row_step in tile_row_table
  const int32_t* vec_offset;  // by k; replaces vec_step in tile_vec_table
  int64_t k;
  int row_count;  // 1 .. mr
  int cols;       // 1 .. nr
  bool resume;    // start from what `out` holds (an earlier block of k), not from +0
};

// What follows the sum, in the order of the fields; each step is skipped when its pointer is null.
struct Epilogue {
  enum class Channel : uint8_t { kRow, kColumn, kWhole };  // kWhole: the region is of one channel
  const float* bias = nullptr;                             // by channel: y + bias
  const float* scale = nullptr;                            // by channel: fma(y, scale, shift)
  const float* shift = nullptr;
  const float* residual = nullptr;  // laid out like the region: y + residual
  int64_t residual_step = 0;
  Channel channel = Channel::kColumn;
  Activation act = Activation::kNone;
  float alpha = 0, beta = 0;  // kClip's bounds; kLeakyRelu's slope

  bool empty() const {
    return bias == nullptr && scale == nullptr && residual == nullptr && act == Activation::kNone;
  }
};

// One set of these per SIMD target.
struct TileKernels {
  int lanes;
  int mr;  // rows of a full tile
  int nr;  // columns of a full tile: three vectors
  void (*tile)(const TileArgs&);
  void (*tile_row_table)(const TileArgs&);
  void (*tile_vec_table)(const TileArgs&);
  // dst = epilogue(src) over a region whose first channel is `channel0`; dst may be src.
  void (*finish)(const Epilogue&, int64_t channel0, const float* src, int64_t src_step, float* dst,
                 int64_t dst_step, int64_t rows, int64_t cols);
  // dst[c * dst_step + r] = src[r * src_step + c]
  void (*transpose)(const float* src, int64_t src_step, float* dst, int64_t dst_step, int64_t rows,
                    int64_t cols);
  // out[i] = sum over t ascending of fma(w[t], x[offset[t] + i], sum), i in [0, count); x is
  // readable and out writable up to the next multiple of `lanes`.
  void (*taps)(const float* x, const int32_t* offset, const float* w, int64_t taps, float* out,
               int64_t count);
  // `tile` for one row and up to kRowPanels * nr columns, which lie in panels of nr columns that
  // many elements apart; the last one, perhaps narrower, at `last`, with a step over k of its own.
  void (*row)(const TileArgs&, int64_t panel_step, const float* last, int64_t last_step);
  // tile_vec_table and the epilogue in one: row r is channel0 + r's, and e.residual lies as `out`.
  // Activations up to kClip.
  void (*tile_finish)(const TileArgs&, const Epilogue& e, int64_t channel0);
  // Rows of a padded image: to[r][c] = from[r][(c - lo) * step] for c in [lo, hi), zero beside it.
  // Rows of `to` are `cols` long, those of `from` from_step apart.
  void (*pad_rows)(const float* from, int64_t from_step, int64_t step, int64_t rows, int64_t lo,
                   int64_t hi, int64_t cols, float* to);
};

// The best target's set (see simd.h); fetched once, at plan time.
const TileKernels& tile_kernels();

// What a product's plan keeps.
struct TilePlan {
  const TileKernels* kernels;
  int threads;  // that scratch was counted for
};

}  // namespace wick
