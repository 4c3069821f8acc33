#include "runtime/kernels/bytes/qlinear_depthwise.h"

#include <algorithm>
#include <cstring>

#include "runtime/core/byte_count.h"
#include "runtime/core/int_math.h"
#include "runtime/kernels/bytes/byte_conv.h"
#include "runtime/kernels/bytes/qlinear.h"
#include "runtime/kernels/bytes/qlinear_channels.h"
#include "runtime/kernels/epilogue.h"

namespace wick {
namespace {

constexpr int64_t kStageBytes = 1 << 13;   // per band of a channel: a few of them stay in L1
constexpr int64_t kTaskOutputs = 1 << 13;  // approximate outputs per task, or one channel
constexpr int64_t kAhead = 4;  // planes laid out before the first of them is read, once their
                               // stores are through
constexpr int64_t kMostTaps = 1 << 10;
constexpr int64_t kSlack = 128 + kStageSlack;  // bytes that blocks read beyond the last line

// Residues of the stride are stored apart, as in byte_conv.h.
struct Depthwise {
  ByteAxis h, w;
  int64_t planes = 1, channels = 1;
  int64_t words = 1;  // words of weights
  int64_t line = 1;   // in bytes
  int64_t band = 1;   // in output rows

  int64_t slots() const { return h.slots() * w.slots(); }
  // Returns the lines of a slot that `rows` output rows read.
  int64_t lines_for(int64_t rows) const { return rows + h.reach(); }
  size_t stage_bytes() const {
    return rounded(slots() * lines_for(band) * line + kByteColumns * w.stride + kSlack);
  }
  size_t weight_bytes() const {
    return byte_count(4 * static_cast<uint64_t>(channels * (words + 1)));
  }
  int64_t offsets() const { return 2 * words; }
};

Depthwise depthwise(Span<const TensorView> in, const TensorView& y, const ConvAttrs& a) {
  const ByteConv s = byte_conv(in, y, a);
  Depthwise d;
  d.h = s.h, d.w = s.w;
  d.channels = s.groups, d.planes = s.images * s.groups;
  d.words = (s.h.taps * s.w.taps + 1) / 2;
  d.line = s.w.out + s.w.reach();
  d.band = s.h.out;
  while (d.band > 1 && d.slots() * d.lines_for(d.band) * d.line > kStageBytes)
    d.band = (d.band + 1) / 2;
  return d;
}

// Returns the byte of a tap for the first output.
int64_t tap_byte(const Depthwise& d, int64_t y, int64_t x) {
  const int64_t slot = d.h.slot(y) * d.w.slots() + d.w.slot(x);
  return (slot * d.lines_for(d.band) + d.h.shift(y)) * d.line + d.w.shift(x);
}

// Calls f(word, position in it, tap) for each tap.
template <class F>
void for_each_tap(const Depthwise& d, F&& f) {
  for (int64_t tap = 0; tap < d.h.taps * d.w.taps; ++tap) f(tap / 2, tap % 2, tap);
}
uint32_t number_at(int8_t v, int64_t place) {
  return static_cast<uint32_t>(static_cast<uint16_t>(v)) << (16 * place);
}

// Packs [channel][words], followed by each channel's sum.
void pack_weights(const Depthwise& d, const TensorView& w, void* dst) {
  const auto* bytes = static_cast<const uint8_t*>(w.data);
  const uint8_t flip = w.dtype == DType::kU8 ? 0x80 : 0;
  const int64_t taps = d.h.taps * d.w.taps;
  auto* to = static_cast<uint32_t*>(dst);
  memset(to, 0, d.weight_bytes());
  for (int64_t c = 0; c < d.channels; ++c) {
    uint32_t& sum = to[d.channels * d.words + c];
    for_each_tap(d, [&](int64_t word, int64_t place, int64_t tap) {
      const auto v = static_cast<int8_t>(bytes[c * taps + tap] ^ flip);
      to[c * d.words + word] |= number_at(v, place);
      sum += static_cast<uint32_t>(v);
    });
  }
}

// Computes the offsets of the taps, and weights that are all 1.
void fill_taps(const Depthwise& d, int32_t* offset, uint32_t* ones) {
  std::fill(ones, ones + d.words, 0);
  std::fill(offset, offset + d.offsets(), 0);  // a missing tap reads the place of the first
  for_each_tap(d, [&](int64_t word, int64_t place, int64_t tap) {
    ones[word] |= number_at(1, place);
    const auto at = static_cast<int32_t>(tap_byte(d, tap / d.w.taps, tap % d.w.taps));
    offset[2 * word + place] = at;
  });
}

// Calls f(block) for each block of a band of `rows` output rows.
template <class F>
void for_each_block(const Depthwise& d, int64_t rows, F&& f) {
  const int64_t pixels = (rows - 1) * d.line + d.w.out;
  for (int64_t pixel = 0; pixel < pixels; pixel += kByteColumns) {
    const int64_t n = std::min<int64_t>(kByteColumns, pixels - pixel);
    int64_t before = 0;
    const uint64_t mask = kept_pixels(d.line, d.w.out, pixel, n, &before);
    f(ByteBlock{mask, static_cast<int32_t>(pixel), static_cast<int32_t>(before),
                static_cast<int32_t>(n)});
  }
}
int64_t count_blocks(const Depthwise& d, int64_t rows) {
  return ((rows - 1) * d.line + d.w.out + kByteColumns - 1) / kByteColumns;
}

// The layout of scratch, in bytes: offsets, ones, numbers per channel, weights, the blocks of a
// whole band and of the last one, and per worker the staged parts of x.
struct Rooms {
  size_t offsets, words, channels, weights, blocks, stage;
  size_t all(int threads) const {
    return byte_count(uint64_t{offsets} + words + uint64_t{3} * channels + weights +
                      uint64_t{2} * blocks +
                      uint64_t{kAhead} * stage * static_cast<uint64_t>(threads));
  }
};
Rooms rooms_of(const Depthwise& d) {
  return {rounded(4 * d.offsets()),
          rounded(4 * d.words),
          rounded(4 * d.channels),
          rounded(static_cast<int64_t>(d.weight_bytes())),
          rounded(count_blocks(d, d.band) * static_cast<int64_t>(sizeof(ByteBlock))),
          d.stage_bytes()};
}

// Processes all planes, each a channel of an image.
struct Planes {
  const ByteKernels& t;
  const Depthwise& d;
  const uint8_t *x, *x_end;
  uint8_t* y;
  uint8_t zero, flip;
  const uint32_t *weights, *ones;
  const ByteChannels& channels;
  const ByteBlock *blocks, *last_blocks;
  int64_t block_count, last_count;
  ByteDepthwise work;  // what all planes share

  // Stage x and compute the outputs for plane i, output rows from row0 on.
  void lay_out(int64_t i, int64_t row0, uint8_t* stage) const;
  void run(int64_t i, int64_t row0, const uint8_t* stage, ByteDepthwise& b) const;
  void with_zero(const ByteDepthwise& all) const;
};

void Planes::with_zero(const ByteDepthwise& all) const {
  for (int64_t i = 0; i < all.block_count; ++i) {
    ByteDepthwise b = all;
    b.blocks += i, b.block_count = 1;
    alignas(64) int32_t sums[kByteColumns], column_sums[kByteColumns];
    b.sums = sums;
    t.depthwise(b);
    b.sums = column_sums, b.weights = ones;
    t.depthwise(b);
    b.end.sums = sums, b.end.column_sums = column_sums;
    b.end.columns = b.blocks->columns, b.end.mask = b.blocks->mask, b.end.y += b.blocks->y;
    t.end_rows(b.end);
  }
}

void Planes::lay_out(int64_t i, int64_t row0, uint8_t* stage) const {
  const int64_t rows = std::min(d.band, d.h.out - row0);
  const ByteLines lines = {x + i * d.h.in * d.w.in, x_end, d.line, zero};
  const int64_t slots_h = d.h.slots(), slots_w = d.w.slots();
  uint8_t* to = stage;
  for (int64_t slot_h = 0; slot_h < slots_h; ++slot_h) {
    for (int64_t slot_w = 0; slot_w < slots_w; ++slot_w, to += d.lines_for(d.band) * d.line) {
      stage_byte_rows(d.h, d.w, lines, slot_h, slot_w, row0, d.lines_for(rows), to);
    }
  }
  for (uint8_t* at = stage; flip != 0 && at < to; ++at) *at ^= flip;
}

void Planes::run(int64_t i, int64_t row0, const uint8_t* stage, ByteDepthwise& b) const {
  const int64_t c = i % d.channels;
  const bool whole = d.h.out - row0 >= d.band;
  b.x = stage;
  b.blocks = whole ? blocks : last_blocks;
  b.block_count = whole ? block_count : last_count;
  b.weights = weights + c * d.words;
  b.end.add = channels.add + c, b.end.multiplier = channels.multiplier + c;
  b.end.y = y + (i * d.h.out + row0) * d.w.out;
  b.end.factor = channels.factor[c] == 0 ? nullptr : channels.factor + c;
  if (b.end.factor == nullptr) return t.depthwise(b);
  with_zero(b);
}

}  // namespace

bool match_qlinear_depthwise(const KernelQuery& q) {
  const auto& a = q.as<ConvAttrs>();
  const Shape &x = q.in[0].shape, &w = q.in[3].shape;
  if (x.rank() != 4 || w[1] != 1 || w[0] != a.group || a.group == 1) return false;
  const ByteConv s = byte_conv(q.in, q.out[0], a);
  if (s.h.taps > kMostTaps || s.w.taps > kMostTaps) return false;
  constexpr int64_t kFar = 1 << 20;
  for (const ByteAxis* axis : {&s.h, &s.w}) {
    if (axis->stride > 64 || axis->dilation > kMostTaps || axis->out > kFar) return false;
  }
  const Depthwise d = depthwise(q.in, q.out[0], a);
  return d.slots() * d.lines_for(d.band) * d.line <= 2 * kStageBytes + 8 * x[2] * x[3];
}

Status plan_qlinear_depthwise(const KernelQuery& q, KernelPlan* p) {
  const ByteKernels& t = byte_kernels();
  const Depthwise d = depthwise(q.in, q.out[0], q.as<ConvAttrs>());
  p->keep(&t);
  p->scratch_bytes = rooms_of(d).all(q.threads);
  p->packs[0] = {3, packed_layout(PackedKind::kByteTaps, 2), d.weight_bytes()};
  return {};
}

Status pack_qlinear_depthwise(const KernelQuery& q, const KernelPlan&, int, void* dst) {
  pack_weights(depthwise(q.in, q.out[0], q.as<ConvAttrs>()), q.in[3], dst);
  return {};
}

Status run_qlinear_depthwise(const KernelCtx& ctx, Span<const TensorView> in, Span<TensorView> out,
                             const void* attrs) {
  ProductScales scales;
  WICK_TRY(product_scales(in, 0, 3, 6, &scales));
  const auto& t = *ctx.plan->kept<const ByteKernels*>();
  const Depthwise d = depthwise(in, out[0], *static_cast<const ConvAttrs*>(attrs));
  const Rooms b = rooms_of(d);
  ScratchPieces scratch(ctx.scratch);
  auto* offset = scratch.take<int32_t>(b.offsets);
  auto* ones = scratch.take<uint32_t>(b.words);
  ByteChannels channels = take_channels(&scratch, b.channels);
  auto* unpacked = scratch.take<char>(b.weights);
  auto* blocks = scratch.take<ByteBlock>(b.blocks);
  auto* last_blocks = scratch.take<ByteBlock>(b.blocks);
  auto* stages = scratch.take<uint8_t>(0);
  fill_taps(d, offset, ones);
  const auto add_to = [](ByteBlock* list) {
    return [list](const ByteBlock& block) mutable { *list++ = block; };
  };
  for_each_block(d, d.band, add_to(blocks));
  const int64_t last = (d.h.out - 1) % d.band + 1;
  for_each_block(d, last, add_to(last_blocks));
  const auto* weights = static_cast<const uint32_t*>(ctx.packed[0]);
  if (weights == nullptr) {
    pack_weights(d, in[3], unpacked);
    weights = reinterpret_cast<const uint32_t*>(unpacked);
  }
  const uint8_t flip = flip_of(in[0]);
  fill_byte_channels(in, scales, d.h.taps * d.w.taps, zero_point(in, 2) + flip,
                     reinterpret_cast<const int32_t*>(weights + d.channels * d.words), d.channels,
                     &channels);
  const ByteRange to = byte_range(in[7].dtype, zero_point(in, 7));
  const auto* x = static_cast<const uint8_t*>(in[0].data);
  Planes all = {t,
                d,
                x,
                x + in[0].numel(),
                static_cast<uint8_t*>(out[0].data),
                static_cast<uint8_t>(zero_point(in, 2)),
                flip,
                weights,
                ones,
                channels,
                blocks,
                last_blocks,
                count_blocks(d, d.band),
                count_blocks(d, last),
                {}};
  all.work.offset = offset, all.work.words = d.words;
  all.work.end.rows = 1;
  all.work.end.lo = to.lo, all.work.end.hi = to.hi, all.work.end.zero = to.zero;
  const int64_t each = std::max<int64_t>(1, kTaskOutputs / (d.h.out * d.w.out));
  parallel_for(ctx.pool, (d.planes + each - 1) / each, [&](int64_t task, int worker) {
    uint8_t* stage = stages + static_cast<size_t>(worker) * kAhead * b.stage;
    ByteDepthwise work = all.work;
    Poll poll;
    const int64_t until = std::min(d.planes, (task + 1) * each);
    for (int64_t first = task * each; first < until; first += kAhead) {
      const int64_t some = std::min<int64_t>(kAhead, until - first);
      for (int64_t row0 = 0; row0 < d.h.out; row0 += d.band) {
        if (poll(some * d.band * d.w.out)) return;
        for (int64_t i = 0; i < some; ++i)
          all.lay_out(first + i, row0, stage + static_cast<size_t>(i) * b.stage);
        for (int64_t i = 0; i < some; ++i)
          all.run(first + i, row0, stage + static_cast<size_t>(i) * b.stage, work);
      }
    }
  });
  return {};
}

}  // namespace wick
