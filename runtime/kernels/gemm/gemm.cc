#include "runtime/kernels/gemm/gemm.h"

#include "runtime/core/byte_count.h"
#include "runtime/core/int_math.h"

#include <algorithm>
#include <cstring>

namespace wick {
namespace {

// Block sizes affect only speed: a later block of k resumes from the sums that the earlier one
// stored.
constexpr int64_t kBlockK = 1024;
constexpr int64_t kBlockM = 96;      // kBlockM x kBlockK of A stays in L2 beside a panel of B
constexpr int64_t kBlockN = 2016;    // a multiple of every target's nr
constexpr int64_t kDirectM = 256;    // up to this m, B is reused too little to pay for packing
constexpr int64_t kDirectFarM = 64;  // the same where rows of B are pages apart
constexpr int64_t kDirectK = 128;    // few enough rows of B to keep their pages in the TLB
constexpr int64_t kStreamM = 8,
                  kStreamK = 16;   // B comes from memory: as many rows as prefetchers follow
constexpr int64_t kWholeA = 6144;  // floats of A that stay in L1 beside B as it streams past

// Returns the width of the last panel of packed B where it is not full.
int64_t tail_width(const TileKernels& kernels, int64_t n) {
  return round_up(n % kernels.nr, kernels.lanes);
}

// Packs A panel by panel: [k][mr]. Rows beyond `rows` are left out; the tile repeats the last one.
void pack_a(const TileKernels& kernels, const float* a, int64_t a_row, int64_t a_col, int64_t rows,
            int64_t k, float* packed) {
  const int64_t mr = kernels.mr;
  if (a_col == 1) {
    for (int64_t i = 0; i < rows; i += mr) {
      kernels.transpose(a + i * a_row, a_row, packed + i * k, mr, std::min(mr, rows - i), k);
    }
    return;
  }
  // Packs a few k of all panels before the next k: lines of A, which may be pages apart, are read
  // completely before they leave the cache, and whole lines are written.
  constexpr int64_t kFew = 8, kPiece = 4;  // divides every mr
  for (int64_t k0 = 0; k0 < k; k0 += kFew) {
    const int64_t end = std::min(k, k0 + kFew);
    for (int64_t i = 0; i < rows; i += mr) {
      const int64_t n = std::min(mr, rows - i);
      for (int64_t kk = k0; kk < end; ++kk) {
        const float* from = a + i * a_row + kk * a_col;
        float* to = packed + i * k + kk * mr;
        int64_t r = 0;
        if (a_row == 1) {
          for (; r + kPiece <= n; r += kPiece) memcpy(to + r, from + r, sizeof(float) * kPiece);
        }
        for (; r < n; ++r) to[r] = from[r * a_row];
      }
    }
  }
}

// Packs one panel of B, [k][nr], zero beyond `cols`.
void pack_panel(const TileKernels& kernels, const float* b, int64_t b_row, int64_t b_col, int64_t k,
                int64_t cols, int64_t nr, float* packed) {
  const size_t bytes = sizeof(float) * static_cast<size_t>(cols);
  const size_t pad = sizeof(float) * static_cast<size_t>(nr - cols);
  if (b_col == 1) {
    for (int64_t kk = 0; kk < k; ++kk) {
      memcpy(packed + kk * nr, b + kk * b_row, bytes);
      memset(packed + kk * nr + cols, 0, pad);
    }
    return;
  }
  if (b_row == 1) {
    kernels.transpose(b, b_col, packed, nr, cols, k);
  } else {
    for (int64_t kk = 0; kk < k; ++kk) {
      for (int64_t c = 0; c < cols; ++c) packed[kk * nr + c] = b[kk * b_row + c * b_col];
    }
  }
  if (pad != 0) {
    for (int64_t kk = 0; kk < k; ++kk) memset(packed + kk * nr + cols, 0, pad);
  }
}

// The vector operand of a block of columns.
struct Vectors {
  const float* base;
  int64_t panel_step;  // stride between panels
  int64_t k_step;
  int64_t tail_step;  // k_step of a panel that is not full
  int64_t k0;         // first k within the panels

  int64_t step(bool full) const { return full ? k_step : tail_step; }
  const float* panel(int64_t p, bool full) const { return base + p * panel_step + k0 * step(full); }
};

class Product {
 public:
  Product(const TileKernels& kernels, const Gemm& g, float* scratch, ThreadPool* pool)
      : t_(kernels), g_(g), pool_(pool), threads_(pool == nullptr ? 1 : pool->threads()) {
    block_n_ = std::min(kBlockN, round_up(g.n, t_.nr));
    const bool far = g.b_row >= 1024;
    direct_ = g.packed_b == nullptr && g.b_col == 1 && g.m <= (far ? kDirectFarM : kDirectM);
    int64_t most = kBlockK;
    if (direct_ && far) most = g.m <= kStreamM ? kStreamK : kDirectK;
    // A few rows go along all of k at once: threads meet once, not after each block of it.
    if (g.packed_b != nullptr && g.m <= t_.mr && g.m * g.k <= kWholeA) most = g.k;
    block_k_ = ceil_div(g.k, ceil_div(g.k, most));
    b_scratch_ = scratch;
    a_scratch_ = scratch + (g.packed_b != nullptr ? 0 : round_up(block_n_ * block_k_, 16));
  }

  void run() {
    // A whose rows are contiguous can be read in place; with strided k, or rows that map to the
    // same cache sets, it is copied once per block.
    pack_a_ = g_.m > t_.mr &&
              (g_.a_col != 1 ? g_.n > 2 * t_.nr : g_.n > 4 * t_.nr && g_.a_row % 256 == 0);
    for (int64_t j = 0; j < g_.n; j += block_n_) {
      const int64_t cols = std::min(block_n_, g_.n - j);
      for (int64_t k = 0; k < g_.k && !stopped(); k += block_k_)
        block(j, cols, k, std::min(block_k_, g_.k - k));
    }
  }

 private:
  void block(int64_t j, int64_t cols, int64_t k, int64_t depth) {
    const int64_t panels = ceil_div(cols, t_.nr);
    Vectors v;
    if (g_.packed_b != nullptr) {
      const int64_t rows_of_b = g_.packed_k != 0 ? g_.packed_k : g_.k;
      v = {g_.packed_b + j / t_.nr * rows_of_b * t_.nr, rows_of_b * t_.nr, t_.nr,
           tail_width(t_, g_.n), k};
    } else {
      const float* b = g_.b + k * g_.b_row + j * g_.b_col;
      parallel_for(pool_, panels, [&](int64_t p, int) {
        const int64_t n = std::min<int64_t>(t_.nr, cols - p * t_.nr);
        if (direct_ && n == t_.nr) return;
        pack_panel(t_, b + p * t_.nr * g_.b_col, g_.b_row, g_.b_col, depth, n, t_.nr,
                   b_scratch_ + p * t_.nr * depth);
      });
      v = {b_scratch_, t_.nr * depth, t_.nr, t_.nr, 0};
      if (direct_) {
        const int64_t whole = cols / t_.nr;
        if (whole > 0) rows(j, whole * t_.nr, k, depth, {b, t_.nr, g_.b_row, g_.b_row, 0});
        v.base += whole * v.panel_step;
        j += whole * t_.nr;
        cols -= whole * t_.nr;
      }
    }
    if (cols > 0) rows(j, cols, k, depth, v);
  }

  // Computes all rows of a block of columns. Tasks are blocks of rows; where these are few, also
  // blocks of panels.
  void rows(int64_t j, int64_t cols, int64_t k, int64_t depth, const Vectors& v) {
    const int64_t panels = ceil_div(cols, t_.nr);
    const int64_t row_tiles = ceil_div(g_.m, t_.mr);
    int64_t row_tasks = ceil_div(g_.m, kBlockM);
    int64_t panel_tasks = 1;
    if (threads_ > 1) {
      row_tasks = std::min(round_up(row_tasks, threads_), row_tiles);
      if (row_tasks < threads_) panel_tasks = std::min<int64_t>(threads_, panels);
    }
    // Even parts: a last one of few rows would leave a thread without work.
    parallel_for(pool_, row_tasks * panel_tasks, [&](int64_t task, int worker) {
      const int64_t r = task / panel_tasks, q = task % panel_tasks;
      const int64_t i0 = row_tiles * r / row_tasks * t_.mr;
      const int64_t i1 = std::min(g_.m, row_tiles * (r + 1) / row_tasks * t_.mr);
      const int64_t p0 = panels * q / panel_tasks, p1 = panels * (q + 1) / panel_tasks;
      if (i0 < i1 && p0 < p1) tiles(i0, i1, p0, p1, j, cols, k, depth, v, worker);
    });
  }

  void tiles(int64_t i0, int64_t i1, int64_t p0, int64_t p1, int64_t j, int64_t cols, int64_t k,
             int64_t depth, const Vectors& v, int worker) {
    const float* a = g_.a + i0 * g_.a_row + k * g_.a_col;
    int64_t row = g_.a_row;
    int64_t step = g_.a_col;
    int64_t tile_step = t_.mr * g_.a_row;
    if (pack_a_) {
      float* packed = a_scratch_ + worker * a_block_floats(t_, block_k_);
      pack_a(t_, a, g_.a_row, g_.a_col, i1 - i0, depth, packed);
      a = packed;
      row = 1;
      step = t_.mr;
      tile_step = t_.mr * depth;
    }
    TileArgs args = {};
    args.k = depth;
    args.row_step = step;
    args.vec_step = v.k_step;
    args.out_step = g_.c_row;
    args.resume = k > 0;
    const bool last = k + depth == g_.k && !g_.epilogue.empty();
    if (i1 - i0 == 1) {
      args.row_count = 1;
      args.rows[0] = a;
      Poll poll;
      for (int64_t p = p0; p < p1; p += kRowPanels) {
        if (poll(depth * kRowPanels)) return;
        const int64_t col = j + p * t_.nr;
        const int64_t end = j + std::min(cols, std::min(p1, p + kRowPanels) * t_.nr);
        const int64_t end_panel = ceil_div(end - j, t_.nr) - 1;
        const bool full = (end - j) % t_.nr == 0;
        args.vec = v.panel(p, full || p < end_panel);
        args.cols = static_cast<int>(end - col);
        args.out = g_.c + i0 * g_.c_row + col;
        t_.row(args, v.panel_step, v.panel(end_panel, full), v.step(full));
        if (last) finish(args, i0, col);
      }
      return;
    }
    Poll poll;
    for (int64_t p = p0; p < p1; ++p) {
      if (poll((i1 - i0) * depth)) return;
      const int64_t col = j + p * t_.nr;
      args.cols = static_cast<int>(std::min<int64_t>(t_.nr, cols - p * t_.nr));
      const bool full = args.cols == t_.nr;
      args.vec = v.panel(p, full);
      args.vec_step = v.step(full);
      const float* from = a;
      for (int64_t i = i0; i < i1; i += t_.mr, from += tile_step) {
        args.row_count = static_cast<int>(std::min<int64_t>(t_.mr, i1 - i));
        for (int r = 0; r < t_.mr; ++r) args.rows[r] = from + r * row;
        args.out = g_.c + i * g_.c_row + col;
        // The next tile's outputs are far away in memory: prefetch them during this tile's
        // computation.
        for (int64_t r = i + t_.mr; r < std::min(i1, i + 2 * t_.mr); ++r) {
          for (int64_t c = col; c < col + args.cols; c += 16)
            __builtin_prefetch(g_.c + r * g_.c_row + c, 1);
        }
        // The next panel of weights comes from memory while this one is used.
        const int64_t line = (i - i0) / t_.mr * depth * 16;
        const bool more = g_.packed_b != nullptr && p + 1 < p1 && line < t_.nr * depth;
        args.ahead = more ? v.panel(p + 1, true) + line : nullptr;
        if (last && g_.epilogue.channel == Epilogue::Channel::kColumn) {
          t_.tile_columns(args, epilogue_at(i, col), col);
        } else {
          t_.tile(args);
          if (last) finish(args, i, col);
        }
      }
    }
  }

  Epilogue epilogue_at(int64_t i, int64_t col) const {
    Epilogue e = g_.epilogue;
    if (e.residual != nullptr) e.residual += i * e.residual_step + col;
    return e;
  }
  void finish(const TileArgs& args, int64_t i, int64_t col) {
    const Epilogue e = epilogue_at(i, col);
    t_.finish(e, e.channel == Epilogue::Channel::kRow ? i : col, args.out, args.out_step, args.out,
              args.out_step, args.row_count, args.cols);
  }

 public:
  static int64_t a_block_floats(const TileKernels& t, int64_t block_k) {
    return round_up(round_up(kBlockM, t.mr) * block_k, 16);
  }

 private:
  const TileKernels& t_;
  const Gemm& g_;
  ThreadPool* pool_;
  int threads_;
  float* b_scratch_;
  float* a_scratch_;
  int64_t block_n_;
  int64_t block_k_;
  bool pack_a_ = false;
  bool direct_ = false;
};

}  // namespace

size_t gemm_packed_b_bytes(const TileKernels& kernels, int64_t k, int64_t n) {
  return byte_count(sizeof(float) * static_cast<uint64_t>(round_up(n, kernels.lanes) * k));
}

void gemm_pack_b(const TileKernels& kernels, const float* b, int64_t b_row, int64_t b_col,
                 int64_t k, int64_t n, float* packed, ThreadPool* pool) {
  parallel_for(pool, ceil_div(n, kernels.nr), [&](int64_t p, int) {
    const int64_t j = p * kernels.nr;
    const bool full = n - j >= kernels.nr;
    pack_panel(kernels, b + j * b_col, b_row, b_col, k, full ? kernels.nr : n - j,
               full ? kernels.nr : tail_width(kernels, n), packed + j * k);
  });
}

size_t gemm_scratch_bytes(const TileKernels& kernels, int64_t m, int64_t n, int64_t k,
                          bool packed_b, int threads) {
  const int64_t block_k = std::min(kBlockK, k);
  int64_t floats = 0;
  if (!packed_b) floats += round_up(std::min(kBlockN, round_up(n, kernels.nr)) * block_k, 16);
  if (m > kernels.mr) floats += threads * Product::a_block_floats(kernels, block_k);
  return byte_count(sizeof(float) * static_cast<uint64_t>(floats));
}

void gemm(const TileKernels& kernels, const Gemm& g, float* scratch, ThreadPool* pool) {
  if (g.m == 0 || g.n == 0) return;
  if (g.k == 0) {
    for (int64_t i = 0; i < g.m; ++i) {
      memset(g.c + i * g.c_row, 0, sizeof(float) * static_cast<size_t>(g.n));
    }
    kernels.finish(g.epilogue, 0, g.c, g.c_row, g.c, g.c_row, g.m, g.n);
    return;
  }
  Product(kernels, g, scratch, pool).run();
}

}  // namespace wick
