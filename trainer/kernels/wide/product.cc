#include "trainer/kernels/wide/product.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "trainer/kernels/wide/product.cc"
#include "hwy/foreach_target.h"

#include "hwy/highway.h"

#ifndef WICK_TRAINER_KERNELS_WIDE_PRODUCT_CC_
#define WICK_TRAINER_KERNELS_WIDE_PRODUCT_CC_
namespace wick {

constexpr int kWideMostRows = 8;

// A tile: `rows` point to row_count valid rows of A at the first k, `panel` is [k][columns], and c
// has all of the tile's columns.
struct WideTileArgs {
  const double* rows[kWideMostRows];
  int64_t row_step;  // of k in A
  const double* panel;
  int64_t k;
  double* c;
  int64_t c_row;
  int row_count;
  bool resume;
};
struct WideTile {
  int rows, columns;
  void (*run)(const WideTileArgs&);
};

}  // namespace wick
#endif

HWY_BEFORE_NAMESPACE();
namespace wick {
namespace HWY_NAMESPACE {

#if HWY_HAVE_FLOAT64 && HWY_TARGET != HWY_SCALAR
namespace hn = hwy::HWY_NAMESPACE;

using Tag = hn::ScalableTag<double>;
constexpr int kLanes = static_cast<int>(HWY_LANES(double));
constexpr int kVecs = 3;
// Rows x 3 sums, 3 vectors and a broadcast must fit the registers.
#if HWY_TARGET == HWY_AVX3 || HWY_ARCH_ARM_A64
constexpr int kRows = 8;
#else
constexpr int kRows = 4;
#endif

// Rows beyond row_count repeat the last one: they write the same values again.
HWY_NOINLINE void tile(const WideTileArgs& t) {
  const Tag d;
  const int last = t.row_count - 1;
  hn::Vec<Tag> sum[kRows][kVecs];
  const double* row[kRows];
  double* out[kRows];
#pragma GCC unroll 8
  for (int r = 0; r < kRows; ++r) {
    row[r] = t.rows[HWY_MIN(r, last)];
    out[r] = t.c + HWY_MIN(r, last) * t.c_row;
#pragma GCC unroll 3
    for (int v = 0; v < kVecs; ++v)
      sum[r][v] = t.resume ? hn::LoadU(d, out[r] + v * kLanes) : hn::Zero(d);
  }
  const double* panel = t.panel;
  const int64_t step = t.row_step;
  for (int64_t k = 0, at = 0; k < t.k; ++k, at += step, panel += kVecs * kLanes) {
    hn::Vec<Tag> b[kVecs];
#pragma GCC unroll 3
    for (int v = 0; v < kVecs; ++v) b[v] = hn::LoadU(d, panel + v * kLanes);
#pragma GCC unroll 8
    for (int r = 0; r < kRows; ++r) {
      const auto a = hn::Set(d, row[r][at]);
#pragma GCC unroll 3
      for (int v = 0; v < kVecs; ++v) sum[r][v] = hn::MulAdd(a, b[v], sum[r][v]);
    }
  }
#pragma GCC unroll 8
  for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 3
    for (int v = 0; v < kVecs; ++v) hn::StoreU(sum[r][v], d, out[r] + v * kLanes);
  }
}

constexpr WideTile kWideTile = {kRows, kVecs* kLanes, &tile};
const WideTile* wide_tile() { return &kWideTile; }
#else
const WideTile* wide_tile() { return nullptr; }
#endif

// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace HWY_NAMESPACE
}  // namespace wick
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include <algorithm>
#include <cstring>

#include "runtime/core/int_math.h"
#include "runtime/core/stop.h"
#include "runtime/kernels/simd.h"

namespace wick {

HWY_EXPORT(wide_tile);

namespace {

// Block sizes affect speed alone: a later block of k resumes from the sums of the earlier one.
constexpr int64_t kBlockK = 256;
constexpr int64_t kBlockN = 96;  // a multiple of every target's columns
constexpr int64_t kBlockM = 64;  // a multiple of every target's rows
static_assert(kWideScratch == kBlockK * kBlockN + kBlockK * kBlockM);

// The current target's tile, or null where its bits would be others.
const WideTile* current_tile() {
  const int64_t targets = simd_targets();
  return simd_target_has_fma(targets & -targets) ? HWY_DYNAMIC_DISPATCH(wide_tile)() : nullptr;
}

// Packs rows [i, i + rows) of A at `depth` k from k0 on, tile by tile: [k][tile's rows]. A few k of
// all tiles come before the next k, so that lines of A, which may be pages apart, are read whole.
void pack_rows(const WideProduct& p, int tile_rows, int64_t i, int64_t rows, int64_t k0,
               int64_t depth, double* to) {
  constexpr int64_t kFew = 8;
  for (int64_t begin = 0; begin < depth; begin += kFew) {
    const int64_t end = std::min(depth, begin + kFew);
    for (int64_t r = 0; r < rows; r += tile_rows) {
      const int64_t count = std::min<int64_t>(tile_rows, rows - r);
      for (int64_t k = begin; k < end; ++k) {
        const double* from = p.a + (i + r) * p.a_row + (k0 + k) * p.a_col;
        double* at = to + r * depth + k * tile_rows;
        for (int64_t n = 0; n < count; ++n) at[n] = from[n * p.a_row];
      }
    }
  }
}

// Computes the outputs of rows [i0, i1) and columns [j0, j1), at most kBlockN of these.
void block(const WideProduct& p, const WideTile& t, int64_t i0, int64_t i1, int64_t j0, int64_t j1,
           double* scratch) {
  double *panels = scratch, *packed = panels + kBlockK * kBlockN;
  const int64_t cols = j1 - j0, columns = t.columns;
  double edge[kWideMostRows * kWideMostColumns];  // a tile whose columns are not all there
  WideTileArgs args = {};
  Poll poll;
  for (int64_t k0 = 0; k0 < p.k; k0 += kBlockK) {
    const int64_t depth = std::min(kBlockK, p.k - k0);
    if (poll(depth * ((i1 - i0) * cols + 8 * cols))) return;
    p.b->pack(k0, depth, j0, cols, columns, panels);
    args.k = depth;
    args.resume = p.resume || k0 > 0;
    for (int64_t i = i0; i < i1; i += kBlockM) {
      const int64_t rows = std::min(kBlockM, i1 - i);
      const bool pack = p.a_col != 1;
      if (pack) pack_rows(p, t.rows, i, rows, k0, depth, packed);
      args.row_step = pack ? t.rows : 1;
      for (int64_t j = 0; j < cols; j += columns) {
        const int64_t n = std::min(columns, cols - j);
        args.panel = panels + j * depth;
        for (int64_t r = 0; r < rows; r += t.rows) {
          args.row_count = static_cast<int>(std::min<int64_t>(t.rows, rows - r));
          for (int q = 0; q < args.row_count; ++q) {
            args.rows[q] = pack ? packed + r * depth + q : p.a + (i + r + q) * p.a_row + k0;
          }
          double* c = p.c + (i + r) * p.c_row + j0 + j;
          if (n == columns) {
            args.c = c;
            args.c_row = p.c_row;
            t.run(args);
            continue;
          }
          const size_t bytes = sizeof(double) * static_cast<size_t>(n);
          args.c = edge;
          args.c_row = columns;
          for (int q = 0; args.resume && q < args.row_count; ++q)
            memcpy(edge + q * columns, c + q * p.c_row, bytes);
          t.run(args);
          for (int q = 0; q < args.row_count; ++q)
            memcpy(c + q * p.c_row, edge + q * columns, bytes);
        }
      }
    }
  }
}

}  // namespace

// Columns that are contiguous are read along k: rows of them would be pages apart.
void WideMatrix::pack(int64_t k, int64_t depth, int64_t j, int64_t cols, int64_t columns,
                      double* panels) const {
  const double* data = data_ + k * row_ + j * col_;
  for (int64_t c = 0; c < round_up(cols, columns) && row_ == 1; ++c) {
    double* to = panels + c / columns * columns * depth + c % columns;
    const double* from = c < cols ? data + c * col_ : nullptr;
    for (int64_t i = 0; i < depth; ++i) to[i * columns] = from != nullptr ? from[i] : 0;
  }
  for (int64_t i = 0; i < depth && row_ != 1; ++i) {
    for (int64_t c = 0; c < cols; c += columns) {
      double* to = panels + c * depth + i * columns;
      const double* from = data + i * row_ + c * col_;
      const int64_t n = std::min(columns, cols - c);
      if (col_ == 1) {
        memcpy(to, from, sizeof(double) * static_cast<size_t>(n));
      } else {
        for (int64_t q = 0; q < n; ++q) to[q] = from[q * col_];
      }
      for (int64_t q = n; q < columns; ++q) to[q] = 0;
    }
  }
}

bool wide_products() { return current_tile() != nullptr; }

void wide_product(const WideProduct& p, double* scratch, ThreadPool* pool) {
  if (p.m == 0 || p.n == 0) return;
  if (p.k == 0) {
    for (int64_t i = 0; i < p.m && !p.resume; ++i) std::fill_n(p.c + i * p.c_row, p.n, 0.0);
    return;
  }
  const WideTile& t = *current_tile();
  const int64_t threads = pool == nullptr ? 1 : pool->threads();
  const int64_t across = ceil_div(p.n, kBlockN), tiles = ceil_div(p.m, t.rows);
  // Few blocks of columns: rows are divided, too, and each part packs its columns again.
  const int64_t down = across >= 2 * threads ? 1 : std::min(ceil_div(2 * threads, across), tiles);
  const int64_t share = ceil_div(tiles, down) * t.rows;
  parallel_for(pool, across * down, [&](int64_t task, int worker) {
    const int64_t j0 = task / down * kBlockN, i0 = task % down * share;
    const int64_t j1 = std::min(p.n, j0 + kBlockN), i1 = std::min(p.m, i0 + share);
    if (i0 < i1) block(p, t, i0, i1, j0, j1, scratch + worker * kWideScratch);
  });
}

}  // namespace wick
#endif
