#include "runtime/kernels/conv/conv_pairs.h"

#include <algorithm>
#include <cstring>

#include "runtime/core/byte_count.h"
#include "runtime/core/int_math.h"
#include "runtime/kernels/blocked/blocked_conv.h"
#include "runtime/kernels/conv/conv_pixels.h"
#include "runtime/kernels/conv/conv_shape.h"
#include "runtime/kernels/epilogue.h"
#include "runtime/kernels/gemm/pairs.h"
#include "runtime/kernels/scratch.h"
#include "runtime/ops/products.h"

namespace wick {
namespace {

// Of a task: a panel of weights is read once for its pixels, whose inputs and sums stay in L2.
constexpr int64_t kFewPixels = 64, kMostPixels = 512, kTaskFloats = 1 << 16;

// The division of the work: tasks are blocks of rows x cols outputs of an image, times shares of
// the panels.
struct Cut {
  ConvShape s;
  PairWeights w;
  int64_t step = 1;  // of a pair, in floats
  int64_t rows = 1, cols = 1, row_blocks = 1, col_blocks = 1;
  int64_t share = 1, shares = 1;  // of the outputs, whole panels
  int64_t lanes = 1;

  int64_t pixel() const { return round_up(s.ic, 2); }  // of the band, in floats
  int64_t operand_pixel() const { return pixel() / 2 * step; }
  int64_t band_rows() const { return (rows - 1) * s.stride_h + (s.kh - 1) * s.dilation_h + 1; }
  int64_t band_cols() const { return (cols - 1) * s.stride_w + (s.kw - 1) * s.dilation_w + 1; }
  int64_t band_pixels() const { return band_rows() * band_cols(); }
  int64_t sums_step() const { return round_up(std::min(share, s.oc), lanes); }
  int64_t k() const { return w.pairs() * step; }
  int64_t tasks() const { return s.n * row_blocks * col_blocks * shares; }
};

Cut cut_of(const PairKernels& t, const ConvShape& s, const float* w, int threads) {
  Cut c;
  c.s = s;
  c.step = t.step(), c.lanes = t.lanes;
  c.w = {w, s.oc, s.taps(), s.ic, s.ic * s.taps(), 1, s.taps()};
  int64_t pixels = std::clamp(kTaskFloats / (s.ic + s.oc), kFewPixels, kMostPixels);
  if (threads > 1)
    pixels = std::clamp(ceil_div(s.n * s.oh * s.ow, int64_t{2} * threads), kFewPixels, pixels);
  c.cols = ceil_div(s.ow, ceil_div(s.ow, pixels));
  c.rows = std::clamp<int64_t>(pixels / c.cols, 1, s.oh);
  c.rows = ceil_div(s.oh, ceil_div(s.oh, c.rows));
  c.row_blocks = ceil_div(s.oh, c.rows);
  c.col_blocks = ceil_div(s.ow, c.cols);
  const int64_t panels = ceil_div(s.oc, int64_t{t.nr}), apart = s.n * c.row_blocks * c.col_blocks;
  const int64_t wanted = threads == 1 ? 1 : ceil_div(2 * threads, apart);
  c.share = ceil_div(panels, std::min(panels, wanted)) * t.nr;
  c.shares = ceil_div(panels * t.nr, c.share);
  return c;
}

uint64_t bytes(int64_t floats) { return rounded(sizeof(float) * static_cast<uint64_t>(floats)); }
size_t task_bytes(const Cut& c) {
  return byte_count(bytes(c.band_pixels() * c.pixel()) +
                    bytes(c.band_pixels() * c.operand_pixel()) +
                    bytes(c.rows * c.cols * c.sums_step()));
}

void fill_offsets(const Cut& c, int32_t* offset) {
  const ConvShape& s = c.s;
  for (int64_t i = 0; i < s.kh; ++i) {
    for (int64_t j = 0; j < s.kw; ++j) {
      const int64_t tap = (i * s.dilation_h * c.band_cols() + j * s.dilation_w) * c.operand_pixel();
      for (int64_t k = 0; k < c.operand_pixel(); ++k) *offset++ = static_cast<int32_t>(tap + k);
    }
  }
}

struct Call {
  const PairKernels& t;
  const Cut& c;
  const float *x, *packed;
  float* y;
  Pixels of_x, of_y;
  const Epilogue& epilogue;
  const int32_t* offset;

  void run(int64_t task, void* scratch) const;
};

void Call::run(int64_t task, void* scratch) const {
  const ConvShape& s = c.s;
  const int64_t first = task % c.shares * c.share;
  const int64_t block = task / c.shares, blocks = c.row_blocks * c.col_blocks;
  const int64_t image = block / blocks;
  const int64_t row = block % blocks / c.col_blocks * c.rows, col = block % c.col_blocks * c.cols;
  ScratchPieces pieces(scratch);
  auto* band = pieces.take<float>(bytes(c.band_pixels() * c.pixel()));
  auto* operand = pieces.take<float>(bytes(c.band_pixels() * c.operand_pixel()));
  auto* sums = pieces.take<float>(bytes(c.rows * c.cols * c.sums_step()));
  load_pixels(*t.tiles, of_x, x,
              {image, 0, s.ic, row * s.stride_h - s.pad_top, col * s.stride_w - s.pad_left,
               c.band_rows(), c.band_cols()},
              band, c.pixel());
  for (int64_t i = 0; i < c.band_pixels() && c.pixel() != s.ic; ++i) band[i * c.pixel() + s.ic] = 0;
  PairProduct p;
  p.least = pair_round(t, band, c.band_pixels() * c.pixel(), operand);
  p.operand = operand;
  p.count = c.rows * c.cols, p.cols = c.cols;
  p.row_step = s.stride_h * c.band_cols() * c.operand_pixel();
  p.col_step = s.stride_w * c.operand_pixel();
  p.offset = offset, p.packed = packed;
  p.all_outs = s.oc, p.pairs = c.w.pairs();
  p.first = first, p.outs = std::min(c.share, s.oc - first);
  p.sums = sums, p.sums_step = c.sums_step();
  pair_multiply(t, p);
  store_pixels(
      *t.tiles, of_y, y,
      {image, first, p.outs, row, col, std::min(c.rows, s.oh - row), std::min(c.cols, s.ow - col)},
      sums, c.cols * p.sums_step, p.sums_step, epilogue);
}

struct Kept {
  PairKernels t;
  int threads;
};

// Bands are in proportion to the tensors, and offsets fit 32 bits.
bool in_proportion(const Cut& c) {
  const ConvShape& s = c.s;
  const auto size = [](int64_t a, int64_t b, int64_t each) {
    return static_cast<double>(a) * static_cast<double>(b) * static_cast<double>(each);
  };
  const double band = size(c.band_rows(), c.band_cols(), s.ic + 1);
  return band < (1 << 26) &&
         band <= 8 * (size(s.ic, s.h, s.w) + size(s.oc, s.oh, s.ow)) + (1 << 16);
}

bool asked(const KernelQuery& q) {
  return takes_pairs(q.in[0].dtype, q.in[1].shape, conv_attrs(q)) && q.in[0].numel() != 0 &&
         q.out[0].numel() != 0 && q.in[1].numel() < INT32_MAX / 4 &&
         in_proportion(cut_of(pair_kernels(), conv_shape(q), nullptr, 1));
}

Status run(const KernelCtx& ctx, Span<const TensorView> in, Span<TensorView> out,
           const ConvAttrs& attrs, const EpilogueAttrs* epilogue) {
  const auto& kept = ctx.plan->kept<Kept>();
  const ConvShape s = conv_shape(in[0].shape, in[1].shape, out[0].shape, attrs);
  const Cut c = cut_of(kept.t, s, in[1].as<float>(), kept.threads);
  ScratchPieces pieces(ctx.scratch);
  auto* fresh = pieces.take<float>(rounded(pair_packed_bytes(kept.t, c.w)));
  auto* offset = pieces.take<int32_t>(bytes(c.k()));
  auto* work = pieces.take<char>(0);
  const auto* packed = static_cast<const float*>(ctx.packed[0]);
  if (packed == nullptr) {
    pair_pack(kept.t, c.w, fresh, ctx.pool);
    packed = fresh;
  }
  fill_offsets(c, offset);
  const Epilogue e = make_epilogue(ctx, in, epilogue);
  const Call call = {
      kept.t, c,     in[0].as<float>(), packed, out[0].as<float>(), Pixels(in[0]), Pixels(out[0]),
      e,      offset};
  const size_t step = task_bytes(c);
  parallel_for(ctx.pool, c.tasks(), [&](int64_t task, int worker) {
    call.run(task, work + static_cast<size_t>(worker) * step);
  });
  return {};
}

}  // namespace

bool conv_pairs_fit(const KernelQuery& q) { return asked(q); }
bool conv_pairs_fit_blocked(const KernelQuery& q) { return asked(q) && fits_in_blocks(q); }

Status plan_conv_pairs(const KernelQuery& q, KernelPlan* p) {
  const Kept kept = {pair_kernels(), q.threads};
  const Cut c = cut_of(kept.t, conv_shape(q), nullptr, q.threads);
  const size_t weights = pair_packed_bytes(kept.t, c.w);
  p->packs[0] = {1, packed_layout(PackedKind::kPairTaps, kept.t.nr | (kept.t.words ? 0x8000 : 0)),
                 weights};
  p->scratch_bytes = byte_count(rounded(weights) + bytes(c.k()) +
                                static_cast<uint64_t>(q.threads) * task_bytes(c));
  p->keep(kept);
  return {};
}

Status pack_conv_pairs(const KernelQuery& q, const KernelPlan& p, int, void* dst) {
  const auto& kept = p.kept<Kept>();
  const Cut c = cut_of(kept.t, conv_shape(q), q.in[1].as<float>(), kept.threads);
  pair_pack(kept.t, c.w, static_cast<float*>(dst), nullptr);
  return {};
}

Status run_conv_pairs(const KernelCtx& ctx, Span<const TensorView> in, Span<TensorView> out,
                      const void* attrs) {
  return run(ctx, in, out, *static_cast<const ConvAttrs*>(attrs), nullptr);
}
Status run_fused_conv_pairs(const KernelCtx& ctx, Span<const TensorView> in, Span<TensorView> out,
                            const void* attrs) {
  const auto& a = *static_cast<const FusedConvAttrs*>(attrs);
  return run(ctx, in, out, a.conv, &a.epilogue);
}

}  // namespace wick
