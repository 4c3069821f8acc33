// Kernel rows of Conv and FusedConv whose input, output or both are in blocked layout (blocked.h).
// They are bit-identical to conv.h.
#include <algorithm>
#include <cstring>

#include "runtime/core/byte_count.h"
#include "runtime/core/int_math.h"
#include "runtime/kernels/blocked/blocked.h"
#include "runtime/kernels/blocked/blocked_conv.h"
#include "runtime/kernels/conv/conv_reach.h"
#include "runtime/kernels/conv/conv_shape.h"
#include "runtime/kernels/epilogue.h"
#include "runtime/ops/products.h"

namespace wick {
namespace {

constexpr int64_t kBandFloats = 1 << 15;  // of x, which stay in L2 during the pass over the panels
constexpr int64_t kBandPixels = 64;       // at least, so that a panel is read only a few times
constexpr int64_t kMostK = 1024;          // of a panel, which stays in L2 while the pixels pass

bool is_depthwise(const ConvShape& s) {
  return s.groups > 1 && s.group_in() == 1 && s.group_out() == 1;
}

// The division of the work. The output is `rows` by `cols`; for a 1x1 kernel that reads every pixel
// it is treated as one row.
struct Cut {
  ConvShape s;
  int64_t block = 0;
  bool x_blocked = false, y_blocked = false;
  bool padded = false;  // bands of x are copied with explicit padding
  int64_t rows = 1, cols = 1;
  int64_t x_rows = 1, x_cols = 1;  // of the planes that the tiles read
  // Between the taps of a kernel. Where taps lie farther apart than a band reads for one of them, a
  // copied band holds only what is read, and its steps are less than the dilations.
  int64_t row_step = 1, col_step = 1;
  int64_t band = 1, bands = 1;     // in rows; if there is only one row, in pixels
  int64_t panels = 1, splits = 1;  // of a group's output channels
  int64_t k = 1;

  bool flat() const { return rows == 1; }
  // What a band reads for one tap.
  int64_t tap_rows() const { return flat() ? 1 : (band - 1) * s.stride_h + 1; }
  int64_t tap_cols() const { return (s.ow - 1) * s.stride_w + 1; }
  int64_t x_plane() const { return x_rows * x_cols * (x_blocked ? block : 1); }
  int64_t unit() const { return kBlockedVectors * block; }
  int64_t in_planes() const { return x_blocked ? ceil_div(s.group_in(), block) : s.group_in(); }
  int64_t band_pixels() const { return flat() ? band : band * cols; }
  int64_t group_weights() const { return panels * unit() * k; }
  int64_t table_floats() const { return round_up(k, 16); }
  int64_t x_floats() const { return padded ? round_up(in_planes() * x_plane() + 16, 16) : 0; }
  int64_t vectors() const { return ceil_div(s.group_out(), block); }  // of a group
  int64_t y_floats() const { return y_blocked ? 0 : 3 * block * band_pixels(); }
  int64_t tasks() const { return s.n * s.groups * bands * splits; }
};

Cut cut_of(const BlockedKernels& t, const ConvShape& s, bool x_blocked, bool y_blocked,
           int threads) {
  Cut c;
  c.s = s;
  c.block = t.lanes;
  c.x_blocked = x_blocked, c.y_blocked = y_blocked;
  c.k = s.group_in() * s.taps();
  const int64_t span_h = (s.oh - 1) * s.stride_h + (s.kh - 1) * s.dilation_h + 1;
  const int64_t span_w = (s.ow - 1) * s.stride_w + (s.kw - 1) * s.dilation_w + 1;
  c.padded = s.pad_top != 0 || s.pad_left != 0 || span_h > s.h || span_w > s.w;
  const bool each = s.taps() == 1 && s.stride_h == 1 && s.stride_w == 1 && !c.padded;
  c.rows = each ? 1 : s.oh;
  c.cols = each ? s.oh * s.ow : s.ow;
  const int64_t read = s.group_in() * s.stride_h * s.stride_w;  // floats of x per pixel
  const int64_t wanted = std::max(kBandPixels, kBandFloats / std::max<int64_t>(read, 1));
  const int64_t pixels = c.rows * c.cols;
  const int64_t apart = s.n * s.groups;
  int64_t bands = ceil_div(pixels, wanted);
  if (threads > 1 && apart * bands < 2 * threads)
    bands = std::max(bands, std::min(ceil_div(2 * threads, apart), ceil_div(pixels, kBandPixels)));
  const int64_t length = c.flat() ? c.cols : c.rows;
  c.band = ceil_div(length, std::min(bands, length));
  c.bands = ceil_div(length, c.band);
  c.panels = ceil_div(s.group_out(), c.unit());
  if (threads > 1 && apart * c.bands < 2 * threads)
    c.splits = std::min<int64_t>(c.panels, ceil_div(2 * threads, apart * c.bands));
  c.x_rows = s.h, c.x_cols = s.w;
  c.row_step = s.dilation_h, c.col_step = s.dilation_w;
  if (c.padded) {
    c.row_step = std::min(s.dilation_h, c.tap_rows());
    c.col_step = std::min(s.dilation_w, c.tap_cols());
    c.x_rows = (s.kh - 1) * c.row_step + c.tap_rows();
    c.x_cols = (s.kw - 1) * c.col_step + c.tap_cols();
  }
  return c;
}

void fill_offsets(const Cut& c, int32_t* offset) {
  const ConvShape& s = c.s;
  const int64_t pixel = c.x_blocked ? c.block : 1;
  for (int64_t i = 0; i < s.group_in(); ++i) {
    const int64_t at = c.x_blocked ? i / c.block * c.x_plane() + i % c.block : i * c.x_plane();
    for (int64_t h = 0; h < s.kh; ++h) {
      for (int64_t w = 0; w < s.kw; ++w)
        *offset++ = static_cast<int32_t>(at + (h * c.row_step * c.x_cols + w * c.col_step) * pixel);
    }
  }
}

// Copies what a band reads of every plane, with zeros outside the image: the rows from `first` on,
// the columns from -pad_left on.
void copy_band(const Cut& c, const float* x, int64_t first, float* to) {
  const ConvShape& s = c.s;
  const int64_t pixel = c.x_blocked ? c.block : 1;
  const bool rows_apart = c.row_step < s.dilation_h, cols_apart = c.col_step < s.dilation_w;
  const int64_t runs = cols_apart ? s.kw : 1, length = c.x_cols / runs;
  const auto bytes = [&](int64_t n) { return sizeof(float) * static_cast<size_t>(n * pixel); };
  Poll poll;
  for (int64_t p = 0; p < c.in_planes(); ++p, x += s.h * s.w * pixel) {
    for (int64_t r = 0; r < c.x_rows; ++r) {
      if (poll(c.x_cols * pixel / 4 + 1)) return;
      const int64_t from =
          first + (rows_apart ? r / c.row_step * s.dilation_h + r % c.row_step : r);
      for (int64_t run = 0; run < runs; ++run, to += length * pixel) {
        const int64_t left = run * s.dilation_w - s.pad_left;
        const bool inside = from >= 0 && from < s.h;
        const int64_t lo = inside ? std::clamp<int64_t>(-left, 0, length) : length;
        const int64_t hi = std::clamp(s.w - left, lo, length);
        memset(to, 0, bytes(lo));
        if (hi > lo) memcpy(to + lo * pixel, x + (from * s.w + left + lo) * pixel, bytes(hi - lo));
        memset(to + hi * pixel, 0, bytes(length - hi));
      }
    }
  }
}

// Returns whether the tiles can apply the epilogue up to the activation; other activations are
// applied afterwards.
bool in_registers(const Epilogue& e) { return e.act != Activation::kLeakyRelu; }

// Applies the rest of the epilogue to `count` pixels of some blocks with stride y_vector.
void finish_blocks(const TileKernels& tiles, int64_t block, const Epilogue& e, int64_t channel,
                   int64_t channels, int vectors, float* y, int64_t y_vector, int64_t count) {
  if (in_registers(e)) {
    if (e.act < Activation::kSigmoid) return;
    Epilogue later;
    later.channel = Epilogue::Channel::kWhole;
    later.act = e.act, later.alpha = e.alpha, later.beta = e.beta;
    later.edition = e.edition;
    return tiles.finish(later, 0, y, y_vector, y, y_vector, vectors, count * block);
  }
  Epilogue all = e;
  all.channel = Epilogue::Channel::kColumn;
  all.residual_step = block;
  for (int v = 0; v < vectors; ++v, channel += block, y += y_vector) {
    tiles.finish(all, channel, y, block, y, block, count, std::min(block, channels - channel));
    if (all.residual != nullptr) all.residual += y_vector;
  }
}

struct Call {
  const TileKernels& tiles;
  const BlockedKernels& t;
  const Cut& c;
  const float *x, *weights;
  float* y;
  const Epilogue& epilogue;
  const int32_t* offset;

  void run(int64_t task, float* scratch) const;

 private:
  struct Band;
  void panel(const Band& b, int64_t at, bool third, float* sums) const;
  void turn(const Band& b, int64_t at, int64_t panels, const float* sums) const;
};

struct Call::Band {
  int64_t image, group, first, count;  // rows, or pixels if there is only one row
  const float* x;                      // input of the first output at offset 0
  int64_t x_row;                       // stride of x between output rows
};

// Computes panel `at`; where `third`, also the first vector of the next panel.
void Call::panel(const Band& b, int64_t at, bool third, float* sums) const {
  const ConvShape& s = c.s;
  const int64_t plane = s.oh * s.ow, channel = at * c.unit();
  const int64_t first = b.group * s.group_out() + channel;
  Epilogue end = epilogue;
  BlockedArea r;
  r.x = b.x;
  r.x_step = s.stride_w * (c.x_blocked ? c.block : 1);
  r.x_row = b.x_row;
  r.rows = c.flat() ? 1 : b.count;
  r.cols = c.flat() ? b.count : c.cols;
  r.vectors = third ? 3 : s.group_out() - channel > c.block ? 2 : 1;
  r.channel = first;
  r.channels = s.oc;
  // Blocks are whole: a group's blocks begin at its first channel.
  const int64_t pixel = (c.flat() ? b.first : b.first * c.cols) * c.block;
  const int64_t place =
      (b.image * ceil_div(s.oc, c.block) + first / c.block) * plane * c.block + pixel;
  r.y = c.y_blocked ? y + place : sums;
  r.y_vector = c.y_blocked ? plane * c.block : c.band_pixels() * c.block;
  if (epilogue.residual != nullptr && c.y_blocked) end.residual = epilogue.residual + place;
  const int64_t parts = ceil_div(c.k, kMostK), part = ceil_div(c.k, parts);
  for (int64_t k = 0; k < c.k && !stopped(); k += part) {
    r.offset = offset + k;
    r.k = std::min(part, c.k - k);
    r.weights = weights + b.group * c.group_weights() + (at * c.k + k) * c.unit();
    r.third = r.weights + c.k * c.unit();
    r.next_panel = k + r.k < c.k ? r.k * c.unit() : (c.k - k) * c.unit();
    r.resume = k > 0;
    const bool last = k + part >= c.k;
    r.end = last && c.y_blocked && in_registers(epilogue) ? &end : nullptr;
    t.area(r);
  }
  if (c.y_blocked)
    finish_blocks(tiles, c.block, end, first, s.oc, r.vectors, r.y, r.y_vector, r.rows * r.cols);
}

// Transposes a panel's sums to their place in a plain output.
void Call::turn(const Band& b, int64_t at, int64_t panels, const float* sums) const {
  const ConvShape& s = c.s;
  const int64_t plane = s.oh * s.ow, channel = b.group * s.group_out() + at * c.unit();
  const int64_t left = std::min(panels * c.unit(), s.group_out() - at * c.unit());
  const int64_t pixels = c.flat() ? b.count : b.count * c.cols;
  const int64_t begin = c.flat() ? b.first : b.first * c.cols;
  const int64_t place = (b.image * s.oc + channel) * plane + begin;
  float* out = y + place;
  for (int64_t v = 0; v * c.block < left; ++v) {
    tiles.transpose(sums + v * c.band_pixels() * c.block, c.block, out + v * c.block * plane, plane,
                    pixels, std::min(c.block, left - v * c.block));
  }
  if (epilogue.empty()) return;
  Epilogue e = epilogue;
  e.channel = Epilogue::Channel::kRow;
  e.residual_step = plane;
  if (e.residual != nullptr) e.residual += place;
  tiles.finish(e, channel, out, plane, out, plane, left, pixels);
}

void Call::run(int64_t task, float* scratch) const {
  const ConvShape& s = c.s;
  const int64_t split = task % c.splits, rest = task / c.splits;
  const int64_t band = rest % c.bands, which = rest / c.bands;
  Band b;
  b.group = which % s.groups, b.image = which / s.groups;
  b.first = band * c.band;
  b.count = std::min(c.band, (c.flat() ? c.cols : c.rows) - b.first);
  const int64_t pixel = c.x_blocked ? c.block : 1;
  const int64_t channels = c.x_blocked ? ceil_div(s.ic, c.block) * c.block : s.ic;
  const float* from = x + (b.image * channels + b.group * s.group_in()) * s.h * s.w;
  float* sums = scratch + c.x_floats();
  b.x_row = s.stride_h * c.x_cols * pixel;
  if (c.padded) {
    copy_band(c, from, (c.flat() ? 0 : b.first * s.stride_h) - s.pad_top, scratch);
    b.x = scratch + (c.flat() ? b.first * s.stride_w * pixel : 0);
  } else {
    b.x = from + (c.flat() ? b.first * s.stride_w * pixel : b.first * b.x_row);
  }
  const int64_t some = ceil_div(c.panels, c.splits);
  const int64_t end = std::min(c.panels, (split + 1) * some);
  for (int64_t p = split * some, n; p < end && !stopped(); p += n) {
    // A single vector would leave registers unused, so it is computed with the panel before.
    const bool third = p + 2 == end && end == c.panels && c.vectors() % 2 != 0;
    n = third ? 2 : 1;
    panel(b, p, third, sums);
    if (!c.y_blocked) turn(b, p, n, sums);
  }
}

void run_depthwise(const TileKernels& tiles, const BlockedKernels& t, const ConvShape& s,
                   const float* x, const float* weights, float* y, const Epilogue& epilogue,
                   ThreadPool* pool) {
  const int64_t blocks = ceil_div(s.oc, t.lanes);
  const int64_t in = s.h * s.w * t.lanes, out = s.oh * s.ow * t.lanes;
  parallel_for(pool, s.n * blocks, [&](int64_t task, int) {
    const int64_t b = task % blocks;
    Epilogue end = epilogue;
    if (end.residual != nullptr) end.residual += task * out;
    const Epilogue none;
    BlockedDepthwise d;
    d.x = x + task * in, d.y = y + task * out;
    d.h = s.h, d.w = s.w, d.oh = s.oh, d.ow = s.ow, d.kh = s.kh, d.kw = s.kw;
    d.stride_h = s.stride_h, d.stride_w = s.stride_w;
    d.dilation_h = s.dilation_h, d.dilation_w = s.dilation_w;
    d.pad_top = s.pad_top, d.pad_left = s.pad_left;
    d.weights = weights + b * s.taps() * t.lanes;
    d.end = in_registers(end) ? &end : &none;
    d.channel = b * t.lanes, d.channels = s.oc;
    t.depthwise(d, 0, s.oh);
    finish_blocks(tiles, t.lanes, end, b * t.lanes, s.oc, 1, d.y, out, s.oh * s.ow);
  });
}

struct Kept {
  const TileKernels* tiles;
  const BlockedKernels* kernels;
  int threads;
  size_t work;  // offset of other scratch, after weights that are packed in run()
};

void pack_weights(const TileKernels& tiles, const BlockedKernels& t, const ConvShape& s,
                  const float* w, float* to) {
  const int64_t k = s.group_in() * s.taps();
  if (is_depthwise(s)) {
    conv_pack_weights(tiles, true, w, k, nullptr, s.oc, k, to, t.lanes);
    return;
  }
  const int64_t unit = kBlockedVectors * t.lanes, step = round_up(s.group_out(), unit) * k;
  for (int64_t g = 0; g < s.groups; ++g)
    conv_pack_weights(tiles, true, w + g * s.group_out() * k, k, nullptr, s.group_out(), k,
                      to + g * step, unit);
}

Status run_blocked(const KernelCtx& ctx, Span<const TensorView> in, Span<TensorView> out,
                   const ConvAttrs& attrs, const EpilogueAttrs* epilogue) {
  const auto& kept = ctx.plan->kept<Kept>();
  const TileKernels& tiles = *kept.tiles;
  const BlockedKernels& t = *kept.kernels;
  const ConvShape s = conv_shape(in[0].shape, in[1].shape, out[0].shape, attrs);
  auto* scratch = static_cast<char*>(ctx.scratch);
  const auto* packed = static_cast<const float*>(ctx.packed[0]);
  if (packed == nullptr) {
    auto* fresh = reinterpret_cast<float*>(scratch);
    pack_weights(tiles, t, s, in[1].as<float>(), fresh);
    packed = fresh;
  }
  const Epilogue e = make_epilogue(ctx, in, epilogue);
  const auto* x = in[0].as<float>();
  auto* y = out[0].as<float>();
  if (is_depthwise(s)) {
    run_depthwise(tiles, t, s, x, packed, y, e, ctx.pool);
    return {};
  }
  const Cut c = cut_of(t, s, in[0].block != 0, out[0].block != 0, kept.threads);
  auto* offset = reinterpret_cast<int32_t*>(scratch + kept.work);
  fill_offsets(c, offset);
  auto* work = reinterpret_cast<float*>(offset) + c.table_floats();
  const Call call = {tiles, t, c, x, packed, y, e, offset};
  parallel_for(ctx.pool, c.tasks(), [&](int64_t task, int worker) {
    call.run(task, work + worker * (c.x_floats() + c.y_floats()));
  });
  return {};
}

}  // namespace

bool blocked_conv_fits(const KernelQuery& q) {
  const ConvAttrs& a = conv_attrs(q);
  return fits_in_blocks(q) && !takes_winograd(q.in[0].dtype, q.in[1].shape, a) &&
         !takes_pairs(q.in[0].dtype, q.in[1].shape, a);
}

bool fits_in_blocks(const KernelQuery& q) {
  const BlockedKernels& t = blocked_kernels();
  const TensorView &x = q.in[0], &y = q.out[0];
  if (t.lanes == 0 || x.dtype != DType::kF32 || x.rank() != 4) return false;
  if ((x.block != 0 && !is_blocked(t, x)) || (y.block != 0 && !is_blocked(t, y))) return false;
  for (size_t i = 1; i < q.in.size(); ++i) {
    const bool residual = i == 5 && q.in[i].present();
    if (q.in[i].block != (residual ? y.block : 0)) return false;
  }
  const ConvShape s = conv_shape(q);
  ConvShape stored = s;  // counts all lanes
  if (x.block != 0) stored.ic = round_up(s.group_in(), t.lanes) * s.groups;
  if (!conv_supported(stored) || !conv_reach(s).whole() || s.n * s.oc * s.oh * s.ow == 0)
    return false;
  if (is_depthwise(s)) return x.block != 0 && y.block != 0 && fills_blocks(t.lanes, s.oc);
  if (y.block != 0 && !fills_blocks(t.lanes, s.oc)) return false;
  if (s.groups == 1) return true;
  return s.group_out() % t.lanes == 0 && (x.block == 0 || s.group_in() % t.lanes == 0);
}

Status plan_blocked_conv(const KernelQuery& q, KernelPlan* p) {
  Kept kept = {&tile_kernels(), &blocked_kernels(), q.threads, 0};
  const BlockedKernels& t = *kept.kernels;
  const ConvShape s = conv_shape(q);
  if (is_depthwise(s)) {
    const size_t bytes = sizeof(float) * static_cast<size_t>(round_up(s.oc, t.lanes) * s.taps());
    p->packs[0] = {1, packed_layout(PackedKind::kBlockedTaps, t.lanes), bytes};
    kept.work = p->scratch_bytes = rounded(bytes);
    p->keep(kept);
    return {};
  }
  const Cut c = cut_of(t, s, q.in[0].block != 0, q.out[0].block != 0, q.threads);
  const size_t bytes = byte_count(sizeof(float) * static_cast<uint64_t>(c.group_weights()) *
                                  static_cast<uint64_t>(s.groups));
  p->packs[0] = {1, packed_layout(PackedKind::kConvChannels, c.unit()), bytes,
                 s.groups == 1 ? 0 : s.groups};
  kept.work = rounded(bytes);
  p->keep(kept);
  const int64_t floats = c.table_floats() + q.threads * (c.x_floats() + c.y_floats());
  p->scratch_bytes = byte_count(rounded(bytes) + sizeof(float) * static_cast<uint64_t>(floats));
  return {};
}

Status pack_blocked_conv(const KernelQuery& q, const KernelPlan& p, int, void* dst) {
  const auto& kept = p.kept<Kept>();
  pack_weights(*kept.tiles, *kept.kernels, conv_shape(q), q.in[1].as<float>(),
               static_cast<float*>(dst));
  return {};
}

Status run_blocked_conv(const KernelCtx& ctx, Span<const TensorView> in, Span<TensorView> out,
                        const void* attrs) {
  return run_blocked(ctx, in, out, *static_cast<const ConvAttrs*>(attrs), nullptr);
}
Status run_blocked_fused_conv(const KernelCtx& ctx, Span<const TensorView> in, Span<TensorView> out,
                              const void* attrs) {
  const auto& a = *static_cast<const FusedConvAttrs*>(attrs);
  return run_blocked(ctx, in, out, a.conv, &a.epilogue);
}

}  // namespace wick
