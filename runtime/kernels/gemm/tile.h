// The inner loops of f32 matmul and convolution: a small tile of outputs is kept in registers while
// k runs.
//
//   out[r][c] = sum over k ascending of fma(row operand r at k, vector operand at k [c], sum)
//
// Lanes are columns c, never k, so every FMA target gives the same bits. The row operand is read by
// broadcasts through one pointer per row, the vector operand as whole vectors. Either one may be
// addressed by a table of offsets over k, so convolution needs no im2col copy.
#pragma once

#include <cstdint>

#include "runtime/core/edition.h"
#include "runtime/kernels/activation.h"
#include "runtime/ops/attrs.h"

namespace wick {

constexpr int kMaxTileRows = 8;
constexpr int kRowPanels = 3;

struct TileArgs {
  const float* rows[kMaxTileRows];  // row_count valid ones
  const float* vec;                 // at each k readable up to `cols` rounded up to whole vectors
  float* out;
  int64_t row_step;  // stride of k, in elements
  int64_t vec_step;
  int64_t out_step;           // stride of rows
  const int32_t* row_offset;  // by k; replaces row_step in tile_row_table
  const int32_t* vec_offset;  // by k; replaces vec_step in tile_vec_table
  int64_t k;
  // What the next tiles read, or null: k lines of 64 bytes are fetched while the tile is computed.
  const float* ahead;
  int row_count;  // 1 .. mr
  int cols;       // 1 .. nr
  bool resume;    // start from the sums in `out` (of an earlier block of k) instead of +0
};

// The operations after the sum, in the order of the fields; one is skipped when its pointer is
// null.
struct Epilogue {
  enum class Channel : uint8_t { kRow, kColumn, kWhole };  // kWhole: the region is one channel
  const float* bias = nullptr;                             // by channel: y + bias
  const float* scale = nullptr;                            // by channel: fma(y, scale, shift)
  const float* shift = nullptr;
  const float* residual = nullptr;  // with the layout of the region: y + residual
  int64_t residual_step = 0;
  Channel channel = Channel::kColumn;
  Activation act = Activation::kNone;
  ActivationLoop loop = nullptr;  // of act where has_loop(): looked up once a call, not once a tile
  float alpha = 0, beta = 0;      // bounds of kClip; slope of kLeakyRelu (alpha)
  Edition edition = kNewestEdition;

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
  // out[i] = sum over t ascending of fma(w[t], x[offset[t] + i], sum), i in [0, count); x must be
  // readable and out writable up to the next multiple of `lanes`.
  void (*taps)(const float* x, const int32_t* offset, const float* w, int64_t taps, float* out,
               int64_t count);
  // Like `tile`, for one row by up to kRowPanels * nr columns, in panels of nr columns with stride
  // panel_step; the last panel, which may be narrower, is at `last` and has its own stride of k.
  void (*row)(const TileArgs&, int64_t panel_step, const float* last, int64_t last_step);
  // tile_vec_table with the epilogue: row r is channel channel0 + r, and e.residual has the layout
  // of `out`. Supports activations up to kClip.
  void (*tile_finish)(const TileArgs&, const Epilogue& e, int64_t channel0);
  // `tile` with the epilogue: column c is channel channel0 + c, and e.residual has the layout of
  // `out`.
  void (*tile_columns)(const TileArgs&, const Epilogue& e, int64_t channel0);
  // Rows of a padded image: to[r][c] = from[r][(c - lo) * step] for c in [lo, hi), else zero. The
  // row stride of `to` is `cols`, that of `from` is from_step.
  void (*pad_rows)(const float* from, int64_t from_step, int64_t step, int64_t rows, int64_t lo,
                   int64_t hi, int64_t cols, float* to);
};

// Returns the best target's set (see simd.h); call it once, in plan().
const TileKernels& tile_kernels();

// The state that a product's plan keeps.
struct TilePlan {
  const TileKernels* kernels;
  int threads;  // for which scratch was computed
};

}  // namespace wick
