// Convolutions by winograd.h: a block of tiles at a time is transformed, multiplied place by place
// as matrices (tiles x channels), and transformed back.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "runtime/kernels/conv/winograd.cc"
#include "runtime/kernels/conv/winograd.h"

#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "runtime/kernels/conv/winograd-inl.h"

#if HWY_ONCE
#include <algorithm>

#include "runtime/core/byte_count.h"
#include "runtime/core/int_math.h"
#include "runtime/kernels/blocked/blocked_conv.h"
#include "runtime/kernels/conv/conv_pixels.h"
#include "runtime/kernels/conv/conv_shape.h"
#include "runtime/kernels/epilogue.h"
#include "runtime/kernels/gemm/gemm.h"
#include "runtime/kernels/scratch.h"
#include "runtime/ops/products.h"

namespace wick {

HWY_EXPORT(winograd_set);
const WinogradKernels& winograd_kernels() { return *HWY_DYNAMIC_DISPATCH(winograd_set)(); }

namespace {

constexpr int64_t kBlockFloats = 1 << 20;  // transformed inputs and sums of a block of tiles
constexpr int64_t kMostTiles = 192;        // of a block: more reuse the weights no better
constexpr int64_t kFewTiles = 8;           // of a block that threads cut smaller
constexpr int64_t kLine = 16;              // floats: keeps places apart in the cache's sets

// The division of the work into blocks of rows x cols tiles.
struct Cut {
  ConvShape s;
  int64_t lanes = 1;
  int64_t tile_rows = 0, tile_cols = 0;  // of an image
  int64_t rows = 1, cols = 1;
  int64_t row_blocks = 0, col_blocks = 0;

  int64_t in_blocks() const { return ceil_div(s.ic, lanes); }
  int64_t out_blocks() const { return ceil_div(s.oc, lanes); }
  int64_t tiles() const { return rows * cols; }
  int64_t v_tile() const { return in_blocks() * lanes; }
  int64_t m_tile() const { return out_blocks() * lanes; }
  int64_t v_place() const { return tiles() * v_tile() + kLine; }
  int64_t m_place() const { return tiles() * m_tile() + kLine; }
  // A block reads 2 rows + 2 by 2 cols + 2 pixels.
  int64_t band_rows() const { return 2 * rows + 2; }
  int64_t band_cols() const { return 2 * cols + 2; }
  int64_t band() const { return band_rows() * band_cols() * lanes; }
  int64_t pixels() const { return 4 * tiles() * lanes; }
  int64_t tasks() const { return s.n * row_blocks * col_blocks; }
};

Cut cut_of(const TileKernels& t, const ConvShape& s, int threads) {
  Cut c;
  c.s = s;
  c.lanes = t.lanes;
  c.tile_rows = ceil_div(s.oh, int64_t{2});
  c.tile_cols = ceil_div(s.ow, int64_t{2});
  const int64_t each = kWinogradPlaces * (c.v_tile() + c.m_tile());
  int64_t most = std::clamp<int64_t>(kBlockFloats / each, 1, kMostTiles);
  if (threads > 1) {
    const int64_t share = ceil_div(s.n * c.tile_rows * c.tile_cols, int64_t{2} * threads);
    most = std::min(most, std::max(kFewTiles, share));
  }
  c.cols = ceil_div(c.tile_cols, ceil_div(c.tile_cols, most));
  c.rows = std::clamp<int64_t>(most / c.cols, 1, c.tile_rows);
  c.rows = ceil_div(c.tile_rows, ceil_div(c.tile_rows, c.rows));
  c.row_blocks = ceil_div(c.tile_rows, c.rows);
  c.col_blocks = ceil_div(c.tile_cols, c.cols);
  return c;
}

size_t floats(int64_t n) { return rounded(sizeof(float) * static_cast<uint64_t>(n)); }

size_t gemm_bytes(const TileKernels& t, const Cut& c) {
  return rounded(gemm_scratch_bytes(t, c.tiles(), c.m_tile(), c.s.ic, true, 1));
}
size_t task_bytes(const TileKernels& t, const Cut& c) {
  return byte_count(uint64_t{floats(c.band())} + floats(kWinogradPlaces * c.v_place()) +
                    floats(kWinogradPlaces * c.m_place()) + floats(c.pixels()) + gemm_bytes(t, c));
}
// Of the packed weights of one place.
size_t place_bytes(const TileKernels& t, const ConvShape& s) {
  return gemm_packed_b_bytes(t, s.ic, s.oc);
}

// Writes the weights of each place as gemm_pack_b() does a matrix [ic, oc].
void pack_weights(const TileKernels& t, const ConvShape& s, const float* w, float* packed,
                  ThreadPool* pool) {
  const auto place = static_cast<int64_t>(place_bytes(t, s) / sizeof(float));
  parallel_for(pool, ceil_div(s.oc, int64_t{t.nr}), [&](int64_t panel, int) {
    const int64_t first = panel * t.nr;
    const int64_t width = std::min<int64_t>(t.nr, round_up(s.oc - first, t.lanes));
    Poll poll;
    for (int64_t c = 0; c < s.ic && !poll(width * kWinogradPlaces); ++c) {
      float* to = packed + first * s.ic + c * width;
      for (int64_t o = 0; o < width; ++o) {
        float u[kWinogradPlaces] = {};
        if (first + o < s.oc) winograd_weights(w + ((first + o) * s.ic + c) * 9, u);
        for (int p = 0; p < kWinogradPlaces; ++p) to[p * place + o] = u[p];
      }
    }
  });
}

struct Call {
  const TileKernels& tiles;
  const WinogradKernels& kernels;
  const Cut& c;
  const float *x, *weights;
  float* y;
  Pixels of_x, of_y;
  const Epilogue& epilogue;

  void run(int64_t task, void* scratch) const;
};

void Call::run(int64_t task, void* scratch) const {
  const ConvShape& s = c.s;
  const int64_t image = task / (c.row_blocks * c.col_blocks);
  const int64_t row = task / c.col_blocks % c.row_blocks * c.rows;
  const int64_t col = task % c.col_blocks * c.cols;
  ScratchPieces pieces(scratch);
  auto* band = pieces.take<float>(floats(c.band()));
  auto* v = pieces.take<float>(floats(kWinogradPlaces * c.v_place()));
  auto* m = pieces.take<float>(floats(kWinogradPlaces * c.m_place()));
  auto* pixels = pieces.take<float>(floats(c.pixels()));
  auto* work = pieces.take<float>(gemm_bytes(tiles, c));
  Poll poll;
  for (int64_t b = 0; b < c.in_blocks(); ++b) {
    if (poll(c.band())) return;
    const int64_t channel = b * c.lanes;
    load_pixels(tiles, of_x, x,
                {image, channel, std::min(c.lanes, s.ic - channel), 2 * row - s.pad_top,
                 2 * col - s.pad_left, c.band_rows(), c.band_cols()},
                band, c.lanes);
    for (int64_t r = 0; r < c.rows; ++r)
      kernels.inputs(band + 2 * r * c.band_cols() * c.lanes, c.band_cols() * c.lanes, c.cols,
                     v + r * c.cols * c.v_tile() + b * c.lanes, c.v_place(), c.v_tile());
  }
  Gemm g;
  g.m = c.tiles(), g.n = c.m_tile(), g.k = s.ic;
  g.a_row = c.v_tile(), g.a_col = 1;
  g.c_row = c.m_tile();
  for (int p = 0; p < kWinogradPlaces && !stopped(); ++p) {
    g.a = v + p * c.v_place();
    g.packed_b = weights + p * static_cast<int64_t>(place_bytes(tiles, s) / sizeof(float));
    g.c = m + p * c.m_place();
    gemm(tiles, g, work, nullptr);
  }
  for (int64_t b = 0; b < c.out_blocks(); ++b) {
    if (poll(c.pixels())) return;
    for (int64_t r = 0; r < c.rows; ++r)
      kernels.outputs(m + r * c.cols * c.m_tile() + b * c.lanes, c.m_place(), c.m_tile(), c.cols,
                      pixels + 4 * r * c.cols * c.lanes, 2 * c.cols * c.lanes);
    const int64_t channel = b * c.lanes;
    store_pixels(tiles, of_y, y,
                 {image, channel, std::min(c.lanes, s.oc - channel), 2 * row, 2 * col,
                  std::min(2 * c.rows, s.oh - 2 * row), std::min(2 * c.cols, s.ow - 2 * col)},
                 pixels, 2 * c.cols * c.lanes, c.lanes, epilogue);
  }
}

struct Kept {
  const TileKernels* tiles;
  const WinogradKernels* kernels;
  int threads;
};

bool asked(const KernelQuery& q) {
  return takes_winograd(q.in[0].dtype, q.in[1].shape, conv_attrs(q)) && q.in[0].numel() != 0 &&
         q.out[0].numel() != 0;
}

Status run(const KernelCtx& ctx, Span<const TensorView> in, Span<TensorView> out,
           const ConvAttrs& attrs, const EpilogueAttrs* epilogue) {
  const auto& kept = ctx.plan->kept<Kept>();
  const TileKernels& t = *kept.tiles;
  const ConvShape s = conv_shape(in[0].shape, in[1].shape, out[0].shape, attrs);
  const Cut c = cut_of(t, s, kept.threads);
  ScratchPieces pieces(ctx.scratch);
  auto* fresh = pieces.take<float>(rounded(kWinogradPlaces * place_bytes(t, s)));
  auto* work = pieces.take<char>(0);
  const auto* packed = static_cast<const float*>(ctx.packed[0]);
  if (packed == nullptr) {
    pack_weights(t, s, in[1].as<float>(), fresh, ctx.pool);
    packed = fresh;
  }
  const Epilogue e = make_epilogue(ctx, in, epilogue);
  const Call call = {t,
                     *kept.kernels,
                     c,
                     in[0].as<float>(),
                     packed,
                     out[0].as<float>(),
                     Pixels(in[0]),
                     Pixels(out[0]),
                     e};
  const size_t step = task_bytes(t, c);
  parallel_for(ctx.pool, c.tasks(), [&](int64_t task, int worker) {
    call.run(task, work + static_cast<size_t>(worker) * step);
  });
  return {};
}

}  // namespace

bool winograd_fits(const KernelQuery& q) { return asked(q); }
bool winograd_blocked_fits(const KernelQuery& q) { return asked(q) && fits_in_blocks(q); }

Status plan_winograd(const KernelQuery& q, KernelPlan* p) {
  const Kept kept = {&tile_kernels(), &winograd_kernels(), q.threads};
  const TileKernels& t = *kept.tiles;
  const ConvShape s = conv_shape(q);
  const size_t weights = byte_count(uint64_t{kWinogradPlaces} * place_bytes(t, s));
  p->packs[0] = {1, packed_layout(PackedKind::kWinograd, t.nr), weights};
  p->scratch_bytes = byte_count(rounded(weights) + static_cast<uint64_t>(q.threads) *
                                                       task_bytes(t, cut_of(t, s, q.threads)));
  p->keep(kept);
  return {};
}

Status pack_winograd(const KernelQuery& q, const KernelPlan& p, int, void* dst) {
  pack_weights(*p.kept<Kept>().tiles, conv_shape(q), q.in[1].as<float>(), static_cast<float*>(dst),
               nullptr);
  return {};
}

Status run_winograd(const KernelCtx& ctx, Span<const TensorView> in, Span<TensorView> out,
                    const void* attrs) {
  return run(ctx, in, out, *static_cast<const ConvAttrs*>(attrs), nullptr);
}
Status run_fused_winograd(const KernelCtx& ctx, Span<const TensorView> in, Span<TensorView> out,
                          const void* attrs) {
  const auto& a = *static_cast<const FusedConvAttrs*>(attrs);
  return run(ctx, in, out, a.conv, &a.epilogue);
}

}  // namespace wick
#endif  // HWY_ONCE
