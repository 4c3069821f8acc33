// Kernel rows of Conv and FusedConv whose input, output or both are in blocked layout (blocked.h).
// They are bit-identical to conv.h.
#include <algorithm>
#include <cstring>

#include "runtime/core/byte_count.h"
#include "runtime/core/int_math.h"
#include "runtime/kernels/blocked/blocked.h"
#include "runtime/kernels/blocked/blocked_conv.h"
#include "runtime/kernels/blocked/blocked_cut.h"
#include "runtime/kernels/conv/conv_reach.h"
#include "runtime/kernels/conv/conv_shape.h"
#include "runtime/kernels/elementwise/elementwise.h"
#include "runtime/kernels/epilogue.h"
#include "runtime/ops/products.h"

namespace wick {
namespace {

constexpr int64_t kMostTaps = 1 << 16;  // so that offsets have 32 bits

bool is_depthwise(const ConvShape& s) {
  return s.groups > 1 && s.group_in() == 1 && s.group_out() == 1;
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

constexpr int64_t kMarkFloats = 16;  // a line of the cache

// Scratch: a mark, tables of taps, and room for input and sums.
int64_t worker_floats(const BlockedCut& c) {
  return kMarkFloats + c.all_table_floats() + c.x_floats() + c.y_floats();
}

struct Call {
  const TileKernels& tiles;
  const BlockedKernels& t;
  const BlockedCut& c;
  const float *x, *weights;
  float* y;
  const Epilogue& epilogue;
  bool leaves_out;  // products of padding, as the cut has it

  void run(int64_t task, float* scratch) const;

 private:
  struct Band;
  const float* source(Band& b, const BlockedPlanes& planes) const;
  void panel(Band& b, int64_t at, bool third, float* sums) const;
  template <class F>
  void each_area(const Band& b, BlockedArea r, Epilogue end, F f) const;
  void turn(const Band& b, int64_t at, int64_t panels, const float* sums) const;
};

struct Call::Band {
  int64_t image, group, first, count;  // rows, or pixels if there is only one row
  const float* x;                      // the group's planes of the image
  int32_t* tables;
  float* copy;  // their rows that the band reads, with padding
  bool copied = false;
};

// Returns the input of the band's first output at offset 0.
const float* Call::source(Band& b, const BlockedPlanes& planes) const {
  const int64_t pixel = c.pixel(), col = c.flat() ? b.first * c.s.stride_w * pixel : 0;
  const int64_t row = c.flat() ? 0 : b.first * c.s.stride_h;
  if (!c.padded || &planes == &c.image) return b.x + row * planes.cols * pixel + col;
  if (!b.copied) copy_blocked_band(c, b.x, row - c.s.pad_top, b.copy);
  b.copied = true;
  return b.copy + col;
}

// Calls f(i, area, end, table) for the band's outputs that each table but the first, number i,
// serves; `r` and `end` are those of the band's first output.
template <class F>
void Call::each_area(const Band& b, BlockedArea r, Epilogue end, F f) const {
  const int64_t row0 = c.flat() ? 0 : b.first, rows = c.flat() ? 1 : b.count;
  const int64_t col0 = c.flat() ? b.first : 0, cols = r.y_cols;
  const BlockedArea first = r;
  const float* residual = end.residual;
  int which = -1;
  each_tap_table(
      c, b.tables,
      [&](const TapTable& table, const TapRun& down, const TapRun& across, const BlockedPlanes&) {
        if (which++ < 0) return;
        const int64_t top = std::max(row0, down.begin), left = std::max(col0, across.begin);
        r.rows = std::min(row0 + rows, down.end) - top;
        r.cols = std::min(col0 + cols, across.end) - left;
        if (r.rows <= 0 || r.cols <= 0) return;
        const int64_t out = ((top - row0) * r.y_cols + left - col0) * c.block;
        r.x = first.x + (top - row0) * r.x_row + (left - col0) * r.x_step;
        r.y = first.y + out;
        if (residual != nullptr && c.y_blocked) end.residual = residual + out;
        f(which, r, end, table);
      });
}

// Computes panel `at`; where `third`, also the first vector of the next panel.
//
// Products of padding are left out where all weights are finite. They are 0 then, which changes no
// sum but -0, and a sum becomes -0 only where it underflows. Where a sum is -0, the area is
// computed again with all products.
void Call::panel(Band& b, int64_t at, bool third, float* sums) const {
  const ConvShape& s = c.s;
  const int64_t plane = s.oh * s.ow, channel = at * c.unit();
  const int64_t first = b.group * s.group_out() + channel;
  BlockedArea whole = {};
  int64_t plane_floats = 0;
  const auto read = [&](Band& band, const BlockedPlanes& planes) {
    whole.x = source(band, planes);
    whole.x_row = s.stride_h * planes.cols * c.pixel();
    plane_floats = planes.floats(c.pixel());
  };
  whole.x_step = s.stride_w * c.pixel();
  whole.vectors = third ? 3 : s.group_out() - channel > c.block ? 2 : 1;
  whole.channel = first;
  whole.channels = s.oc;
  // Blocks are whole: a group's blocks begin at its first channel.
  const int64_t pixel = (c.flat() ? b.first : b.first * c.cols) * c.block;
  const int64_t place =
      (b.image * ceil_div(s.oc, c.block) + first / c.block) * plane * c.block + pixel;
  whole.y = c.y_blocked ? y + place : sums;
  whole.y_vector = c.y_blocked ? plane * c.block : c.band_pixels() * c.block;
  whole.y_cols = c.flat() ? b.count : c.cols;
  Epilogue end = epilogue;
  if (epilogue.residual != nullptr && c.y_blocked) end.residual = epilogue.residual + place;

  const bool finish = c.y_blocked && in_registers(epilogue);
  const float* panel_weights = weights + b.group * c.group_weights() + at * c.k * c.unit();
  const int64_t parts = c.parts(), part_floats = c.part_taps() * c.unit();
  const int64_t part_planes = c.x_blocked ? c.part_channels / c.block : c.part_channels;
  const auto compute = [&](BlockedArea r, const Epilogue* e, const TapTable& table, int64_t part) {
    const bool last = part + 1 == parts;
    r.taps = table.taps(part);
    r.x += part * part_planes * plane_floats;
    r.weights = panel_weights + part * part_floats;
    r.third = r.weights + c.k * c.unit();
    r.next_panel = last ? c.k * c.unit() - part * part_floats : part_floats;
    r.resume = part > 0;
    r.end = last && finish ? e : nullptr;
    t.area(r);
  };
  // Of an area whose sums lack products: returns false where one is -0, else finishes them.
  const auto complete = [&](const BlockedArea& r, Epilogue e) {
    const auto each_row = [&](auto f) {
      bool all = true;
      for (int64_t v = 0; v < r.vectors; ++v) {
        for (int64_t row = 0; row < r.rows; ++row)
          all = all && f(v * c.block, v * r.y_vector + row * r.y_cols * c.block);
      }
      return all;
    };
    if (!each_row([&](int64_t, int64_t at) { return !t.minus_zero(r.y + at, r.cols * c.block); }))
      return false;
    e.channel = Epilogue::Channel::kColumn;
    e.residual_step = c.block;
    if (e.act >= Activation::kSigmoid) e.act = Activation::kNone;
    const float* residual = e.residual;
    return !finish || each_row([&](int64_t lane, int64_t at) {
      if (residual != nullptr) e.residual = residual + at;
      tiles.finish(e, first + lane, r.y + at, c.block, r.y + at, c.block, r.cols,
                   std::min(c.block, s.oc - first - lane));
      return true;
    });
  };
  const TapTable all(c, all_taps(s.kh), all_taps(s.kw), b.tables);
  if (!leaves_out && !c.in_place) {
    read(b, c.all);
    whole.rows = c.flat() ? 1 : b.count, whole.cols = whole.y_cols;
    for (int64_t part = 0; part < parts && !stopped(); ++part) compute(whole, &end, all, part);
  }
  uint64_t again = leaves_out || !c.in_place ? 0 : ~uint64_t{0};  // areas, by their number
  if (leaves_out) read(b, c.planes());
  for (int64_t part = 0; part < parts && leaves_out && !stopped(); ++part) {
    // Those with all products come first: then the weights are in the cache for the others.
    for (bool cut : {false, true}) {
      each_area(b, whole, end,
                [&](int i, const BlockedArea& r, const Epilogue& e, const TapTable& table) {
                  if (table.whole() == cut) return;
                  compute(r, cut ? nullptr : &e, table, part);
                  if (cut && part + 1 == parts && !complete(r, e)) again |= uint64_t{1} << i;
                });
    }
  }
  float* const band_y = whole.y;
  for (int64_t from = 0; again != 0 && from < b.count && !stopped(); from += c.copied) {
    Band some = b;
    some.first += from, some.count = std::min(c.copied, b.count - from), some.copied = false;
    read(some, c.all);
    const int64_t out = from * (c.flat() ? 1 : c.cols) * c.block;
    whole.y = band_y + out;
    if (c.flat()) whole.y_cols = some.count;
    Epilogue e = end;
    if (e.residual != nullptr && c.y_blocked) e.residual += out;
    for (int64_t part = 0; part < parts && !stopped(); ++part) {
      each_area(some, whole, e,
                [&](int i, const BlockedArea& r, const Epilogue& of_area, const TapTable&) {
                  if ((again >> i & 1) != 0) compute(r, &of_area, all, part);
                });
    }
  }
  if (c.y_blocked) {
    finish_blocks(tiles, c.block, end, first, s.oc, whole.vectors, band_y, whole.y_vector,
                  c.flat() ? b.count : b.count * c.cols);
  }
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

// The scratch is the worker's, whose first number is 0 before its first task: each worker makes
// tables of its own, which is sooner done than read from another core's cache.
void Call::run(int64_t task, float* scratch) const {
  const ConvShape& s = c.s;
  auto* const made = reinterpret_cast<int32_t*>(scratch);
  int32_t* const tables = made + kMarkFloats;
  if (*made == 0) {
    each_tap_table(c, tables,
                   [](const TapTable& table, const TapRun& rows, const TapRun& cols,
                      const BlockedPlanes& planes) { table.fill(rows, cols, planes); });
    *made = 1;
  }
  scratch += kMarkFloats + c.all_table_floats();
  const int64_t split = task % c.splits, rest = task / c.splits;
  const int64_t band = rest % c.bands, which = rest / c.bands;
  Band b;
  b.group = which % s.groups, b.image = which / s.groups;
  b.first = band * c.band;
  b.count = std::min(c.band, (c.flat() ? c.cols : c.rows) - b.first);
  const int64_t channels = c.x_blocked ? ceil_div(s.ic, c.block) * c.block : s.ic;
  b.x = x + (b.image * channels + b.group * s.group_in()) * s.h * s.w;
  b.tables = tables;
  b.copy = scratch;
  float* sums = scratch + c.x_floats();
  const int64_t end = c.panels * (split + 1) / c.splits;
  for (int64_t p = c.panels * split / c.splits, n; p < end && !stopped(); p += n) {
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
  const int64_t row = s.ow * t.lanes, cost = row * s.taps();
  parallel_bands(pool, s.n, blocks, s.oh, cost, [&](int64_t plane, int64_t begin, int64_t stop) {
    const int64_t b = plane % blocks;
    Epilogue end = epilogue;
    if (end.residual != nullptr) end.residual += plane * out;
    const Epilogue none;
    BlockedDepthwise d;
    d.x = x + plane * in, d.y = y + plane * out;
    d.h = s.h, d.w = s.w, d.oh = s.oh, d.ow = s.ow, d.kh = s.kh, d.kw = s.kw;
    d.stride_h = s.stride_h, d.stride_w = s.stride_w;
    d.dilation_h = s.dilation_h, d.dilation_w = s.dilation_w;
    d.pad_top = s.pad_top, d.pad_left = s.pad_left;
    d.weights = weights + b * s.taps() * t.lanes;
    d.end = in_registers(end) ? &end : &none;
    d.channel = b * t.lanes, d.channels = s.oc;
    t.depthwise(d, begin, stop);
    if (end.residual != nullptr) end.residual += begin * row;
    finish_blocks(tiles, t.lanes, end, b * t.lanes, s.oc, 1, d.y + begin * row, out,
                  (stop - begin) * s.ow);
  });
}

struct Kept {
  const TileKernels* tiles;
  const BlockedKernels* kernels;
  int threads;
  // Of what is packed, the number that tells whether all weights are finite; 0 where no sum leaves
  // out products.
  int64_t finite_at;
  size_t work;  // offset of other scratch, after weights that are packed in run()
};

// Looks at all elements, without a branch for each, so that the loop runs in vectors.
bool all_finite(const float* w, int64_t n) {
  constexpr uint32_t kExponent = 0x7f800000;
  uint32_t most = 0;
  for (int64_t i = 0; i < n; ++i) {
    uint32_t bits;
    memcpy(&bits, w + i, sizeof bits);
    most = std::max(most, bits & kExponent);
  }
  return most != kExponent;
}

void pack_weights(const Kept& kept, const ConvShape& s, const float* w, float* to) {
  const TileKernels& tiles = *kept.tiles;
  const BlockedKernels& t = *kept.kernels;
  const int64_t k = s.group_in() * s.taps();
  if (is_depthwise(s)) {
    conv_pack_weights(tiles, true, w, k, nullptr, s.oc, k, to, t.lanes);
    return;
  }
  const int64_t unit = kBlockedVectors * t.lanes, step = round_up(s.group_out(), unit) * k;
  for (int64_t g = 0; g < s.groups; ++g)
    conv_pack_weights(tiles, true, w + g * s.group_out() * k, k, nullptr, s.group_out(), k,
                      to + g * step, unit);
  if (kept.finite_at != 0) to[kept.finite_at] = all_finite(w, s.oc * k) ? 1.0f : 0.0f;
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
    pack_weights(kept, s, in[1].as<float>(), fresh);
    packed = fresh;
  }
  const Epilogue e = make_epilogue(ctx, in, epilogue);
  const auto* x = in[0].as<float>();
  auto* y = out[0].as<float>();
  if (is_depthwise(s)) {
    run_depthwise(tiles, t, s, x, packed, y, e, ctx.pool);
    return {};
  }
  const BlockedCut c = blocked_cut(t, s, in[0].block != 0, out[0].block != 0, kept.threads);
  auto* work = reinterpret_cast<float*>(scratch + kept.work);
  for (int w = 0; w < (ctx.pool == nullptr ? 1 : kept.threads); ++w)
    *reinterpret_cast<int32_t*>(work + w * worker_floats(c)) = 0;
  const Call call = {tiles,  t, c, x,
                     packed, y, e, kept.finite_at != 0 && packed[kept.finite_at] == 1.0f};
  parallel_for(ctx.pool, c.tasks(),
               [&](int64_t task, int worker) { call.run(task, work + worker * worker_floats(c)); });
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
  if (!conv_supported(stored) || s.taps() > kMostTaps || s.n * s.oc * s.oh * s.ow == 0)
    return false;
  if (is_depthwise(s)) return x.block != 0 && y.block != 0 && fills_blocks(t.lanes, s.oc);
  if (y.block != 0 && !fills_blocks(t.lanes, s.oc)) return false;
  if (s.groups == 1) return true;
  return s.group_out() % t.lanes == 0 && (x.block == 0 || s.group_in() % t.lanes == 0);
}

Status plan_blocked_conv(const KernelQuery& q, KernelPlan* p) {
  Kept kept = {&tile_kernels(), &blocked_kernels(), q.threads, 0, 0};
  const BlockedKernels& t = *kept.kernels;
  const ConvShape s = conv_shape(q);
  if (is_depthwise(s)) {
    const size_t bytes = sizeof(float) * static_cast<size_t>(round_up(s.oc, t.lanes) * s.taps());
    p->packs[0] = {1, packed_layout(PackedKind::kBlockedTaps, t.lanes), bytes};
    kept.work = p->scratch_bytes = rounded(bytes);
    p->keep(kept);
    return {};
  }
  const BlockedCut c = blocked_cut(t, s, q.in[0].block != 0, q.out[0].block != 0, q.threads);
  const int64_t weights = c.group_weights() * s.groups;
  kept.finite_at = c.leaves_out ? weights : 0;
  const size_t bytes =
      byte_count(sizeof(float) * static_cast<uint64_t>(weights + (c.leaves_out ? 1 : 0)));
  const auto kind = c.leaves_out ? PackedKind::kConvFinite : PackedKind::kConvChannels;
  p->packs[0] = {1, packed_layout(kind, c.unit()), bytes, s.groups == 1 ? 0 : s.groups};
  kept.work = rounded(bytes);
  p->keep(kept);
  const int64_t floats = q.threads * worker_floats(c);
  p->scratch_bytes = byte_count(rounded(bytes) + sizeof(float) * static_cast<uint64_t>(floats));
  return {};
}

Status pack_blocked_conv(const KernelQuery& q, const KernelPlan& p, int, void* dst) {
  const auto& kept = p.kept<Kept>();
  pack_weights(kept, conv_shape(q), q.in[1].as<float>(), static_cast<float*>(dst));
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
