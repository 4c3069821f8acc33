// The SIMD row of QLinearConv over one or two spatial dims. Chunk by chunk (byte_conv.h), x is laid
// out and then all of its outputs are computed: blocks of channels by blocks of pixels, whose sums
// are converted to bytes at once. Zero points are not subtracted from the bytes; they contribute a
// number per channel and, where weights have them, the sum of a pixel's bytes.
#include <algorithm>

#include "runtime/core/byte_count.h"
#include "runtime/core/int_math.h"
#include "runtime/kernels/bytes/byte_amx.h"
#include "runtime/kernels/bytes/byte_conv.h"
#include "runtime/kernels/bytes/qlinear_channels.h"
#include "runtime/kernels/bytes/qlinear_depthwise.h"
#include "runtime/kernels/epilogue.h"
#include "runtime/kernels/kernel_set.h"

namespace wick {
namespace {

constexpr int64_t kMaxK = 1 << 20;
constexpr int64_t kWeightsKept = 1 << 18;  // size up to which every task may read the weights again

// The layout of scratch, in bytes: offsets, three numbers per channel, a row of ones, weights, x,
// and a staging buffer per worker.
struct Rooms {
  size_t offsets, channels, ones, weights, x, stage;
};
Rooms rooms_of(const ByteConv& s) {
  Rooms b;
  b.offsets = rounded(4 * static_cast<size_t>(s.words()));
  b.channels = rounded(4 * static_cast<size_t>(s.groups * s.outputs));
  b.ones = b.offsets;
  b.weights = rounded(s.weight_bytes());
  b.x = rounded(4 * static_cast<size_t>(s.parts * s.part_words() + 2 * kByteColumns));
  b.stage = s.stage_bytes();
  return b;
}

struct Run {
  const ByteKernels& t;
  ByteConv s;
  const uint32_t* weights;
  const int32_t* offset;  // of words; with AMX, of taps
  const int32_t* word_offset;
  const uint32_t* ones;
  const float* multiplier;
  const int32_t *add, *factor;  // factor: null if no weight has a zero point
  ByteRange to;
  uint8_t* y;

  // Computes outputs of rows [row0, row0 + rows) of a part: pixel blocks [from, until) by row
  // blocks.
  void blocks(int64_t part, const uint32_t* at, int64_t row0, int64_t rows, int64_t from,
              int64_t until, int64_t first, int64_t last, uint32_t* panel) const;
  void sums(int64_t g, int64_t row, int count, int columns, const uint32_t* at,
            int32_t* sums) const;
};

void Run::sums(int64_t g, int64_t row, int count, int columns, const uint32_t* at,
               int32_t* to) const {
  const int64_t words = s.words();
  if (s.amx) {
    const uint32_t* rows = weights + (g * ceil_div(s.outputs, 16) * 16 + row) * words;
    const auto row_tiles = static_cast<int>(ceil_div(count, 16));
    const auto column_tiles = static_cast<int>(ceil_div(columns, 16));
    if (s.gather) {
      static constexpr int32_t kHere[1] = {0};
      return byte_amx_conv({rows, at, kHere, 1, words / kStepWords, kByteColumns, to, kByteColumns,
                            row_tiles, column_tiles});
    }
    byte_amx_conv({rows, at, offset, s.taps(), s.kept_words() / kStepWords, s.plane, to,
                   kByteColumns, row_tiles, column_tiles});
    return;
  }
  for (int64_t i = 0; i < count;) {
    const int some = byte_rows(t, count - i);
    const uint32_t* rows = weights + (g * s.outputs + row + i) * words;
    for (int64_t c = 0; c < columns; c += t.nr)
      t.conv_tile({rows, at + c, offset, 0, words, to + i * kByteColumns + c, kByteColumns, some});
    i += some;
  }
}

void Run::blocks(int64_t part, const uint32_t* at, int64_t row0, int64_t rows, int64_t from,
                 int64_t until, int64_t first, int64_t last, uint32_t* panel) const {
  const int64_t pixels = (rows - 1) * s.row_words() + s.w.out, plane = s.h.out * s.w.out;
  const int64_t g = part % s.groups;
  alignas(64) int32_t sums_of[kByteRows * kByteColumns];
  alignas(64) int32_t column_sums[kByteColumns];
  Poll poll;
  for (int64_t block = from; block < until; ++block) {
    const int64_t pixel = block * kByteColumns;
    if (stopped()) return;
    const auto columns = static_cast<int>(std::min<int64_t>(kByteColumns, pixels - pixel));
    int64_t before = 0;
    const uint64_t mask = kept_pixels(s.row_words(), s.w.out, pixel, columns, &before);
    if (factor != nullptr) {
      for (int c = 0; c < columns; c += t.nr) {
        t.conv_tile({ones, at + pixel + c, word_offset, 0, s.taps() * s.channel_words(),
                     column_sums + c, kByteColumns, 1});
      }
    }
    const uint32_t* words = at + pixel;
    if (s.gather) {
      byte_amx_gather(words, word_offset, s.taps() * s.channel_words(), panel);
      words = panel;
    }
    for (int64_t row = first; row < last; row += kByteRows) {
      if (poll(4 * s.taps() * s.channel_words())) return;
      const auto count = static_cast<int>(std::min<int64_t>(kByteRows, last - row));
      sums(g, row, count, columns, words, sums_of);
      const int64_t o = g * s.outputs + row;
      t.end_rows({sums_of, kByteColumns, count, columns, add + o,
                  factor == nullptr ? nullptr : factor + o, column_sums, multiplier + o, to.lo,
                  to.hi, to.zero, mask,
                  y + (part * s.outputs + row) * plane + row0 * s.w.out + before, plane});
    }
  }
}

bool match(const KernelQuery& q) {
  const int rank = q.in[0].rank();
  if (rank != 3 && rank != 4) return false;
  if (q.out[0].numel() == 0 || q.in[0].numel() == 0) return false;
  const ByteConv s = byte_conv(q.in, q.out[0], q.as<ConvAttrs>());
  // Keeps the layout of x in proportion to the tensors, however far its taps are apart.
  const double most = 8.0 * (static_cast<double>(q.in[0].numel()) +
                             static_cast<double>(q.out[0].numel()) + 32768.0);
  return s.k() <= kMaxK && s.words_of(static_cast<double>(s.h.out)) <= most && most < INT32_MAX / 8;
}

Status plan(const KernelQuery& q, KernelPlan* p) {
  const ByteKernels& t = byte_kernels();
  ByteConv s = byte_conv(q.in, q.out[0], q.as<ConvAttrs>());
  byte_conv_layout(t, byte_amx(), &s);
  const Rooms b = rooms_of(s);
  p->keep(BytePlan{&t, s.amx});
  p->scratch_bytes =
      byte_count(uint64_t{2} * b.offsets + b.ones + uint64_t{3} * b.channels + b.weights + b.x +
                 uint64_t{b.stage} * static_cast<uint64_t>(q.threads));
  const int64_t unit = s.gather ? 2 * kByteRows : s.amx ? kByteRows : t.mr;
  p->packs[0] = {3, packed_layout(PackedKind::kByteRows, unit | t.per_word << 8), s.weight_bytes(),
                 s.groups - 1};
  return {};
}

ByteConv planned(Span<const TensorView> in, const TensorView& y, const ConvAttrs& a,
                 const KernelPlan& p) {
  ByteConv s = byte_conv(in, y, a);
  const auto& [kernels, amx] = p.kept<BytePlan>();
  byte_conv_layout(*kernels, amx, &s);
  return s;
}

Status pack(const KernelQuery& q, const KernelPlan& p, int, void* dst) {
  pack_byte_conv(*p.kept<BytePlan>().kernels, planned(q.in, q.out[0], q.as<ConvAttrs>(), p),
                 q.in[3], dst);
  return {};
}

void fill_offsets(const ByteConv& s, int32_t* taps, int32_t* words, uint32_t* ones) {
  const uint32_t one = s.per_word == 4 ? 0x01010101u : 0x00010001u;
  const int64_t rest = s.channels % s.per_word;
  const uint32_t last = rest == 0 ? one : one & ((uint32_t{1} << (32 / s.per_word * rest)) - 1);
  for (int64_t y = 0; y < s.h.taps; ++y) {
    for (int64_t x = 0; x < s.w.taps; ++x) {
      const auto at = static_cast<int32_t>(s.tap_word(y, x));
      *taps++ = at;
      for (int64_t c = 0; c < s.channel_words(); ++c) {
        *words++ = at + static_cast<int32_t>(c * s.plane);
        *ones++ = c + 1 == s.channel_words() ? last : one;
      }
    }
  }
}

Status run(const KernelCtx& ctx, Span<const TensorView> in, Span<TensorView> out,
           const void* attrs) {
  ProductScales scales;
  WICK_TRY(product_scales(in, 0, 3, 6, &scales));
  const ByteKernels& t = *ctx.plan->kept<BytePlan>().kernels;
  const ByteConv s = planned(in, out[0], *static_cast<const ConvAttrs*>(attrs), *ctx.plan);
  const Rooms b = rooms_of(s);
  ScratchPieces scratch(ctx.scratch);
  auto* taps = scratch.take<int32_t>(b.offsets);
  auto* word_offsets = scratch.take<int32_t>(b.offsets);
  auto* ones = scratch.take<uint32_t>(b.ones);
  ByteChannels channels = take_channels(&scratch, b.channels);
  auto* unpacked = scratch.take<char>(b.weights);
  auto* x = scratch.take<uint32_t>(b.x);
  auto* stages = scratch.take<uint8_t>(0);
  fill_offsets(s, taps, word_offsets, ones);
  const void* weights = ctx.packed[0];
  if (weights == nullptr) {
    pack_byte_conv(t, s, in[3], unpacked);
    weights = unpacked;
  }
  const size_t sums_at = s.weight_bytes() - 4 * static_cast<size_t>(s.groups * s.outputs);
  const uint8_t flip = t.x_signed != (in[0].dtype == DType::kI8) ? 0x80 : 0;
  const int32_t x_zero = zero_point(in, 2) + (flip == 0 ? 0 : t.x_signed ? -128 : 128);
  fill_byte_channels(in, scales, s.k(), x_zero,
                     reinterpret_cast<const int32_t*>(static_cast<const char*>(weights) + sums_at),
                     s.groups * s.outputs, &channels);
  const Run all = {t,
                   s,
                   static_cast<const uint32_t*>(weights),
                   s.amx ? taps : word_offsets,
                   word_offsets,
                   ones,
                   channels.multiplier,
                   channels.add,
                   channels.any_factor ? channels.factor : nullptr,
                   byte_range(in[7].dtype, zero_point(in, 7)),
                   static_cast<uint8_t*>(out[0].data)};
  const auto pad = static_cast<uint8_t>(zero_point(in, 2));
  const int64_t whole = s.images * s.groups;
  for (int64_t part = 0; part < whole; part += s.parts) {
    const int64_t parts = std::min(s.parts, whole - part);
    for (int64_t row0 = 0; row0 < s.h.out && !stopped(); row0 += s.band) {
      const int64_t rows = std::min(s.band, s.h.out - row0);
      const int64_t words = s.channel_words();
      parallel_for(ctx.pool, parts * words, [&](int64_t task, int worker) {
        const int64_t p = task / words, word = task % words;
        fill_byte_conv(t, s, {&in[0], part + p, row0, rows, pad, flip}, word,
                       stages + static_cast<size_t>(worker) * b.stage,
                       x + p * s.part_words() + word * s.plane);
      });
      const int64_t pixels = (rows - 1) * s.row_words() + s.w.out;
      const int64_t blocks = ceil_div(pixels, kByteColumns);
      // Large weights are read only once, small ones in every task.
      const bool by_rows =
          static_cast<int64_t>(s.weight_bytes()) / s.groups > kWeightsKept && parts * blocks < 32;
      const int64_t row_tasks = by_rows ? ceil_div(s.outputs, kByteRows) : 1;
      const int64_t each = by_rows ? blocks : std::max<int64_t>(1, blocks / 16);
      const int64_t pixel_tasks = ceil_div(blocks, each);
      parallel_for(ctx.pool, parts * row_tasks * pixel_tasks, [&](int64_t task, int worker) {
        const int64_t from = task % pixel_tasks * each, p = task / pixel_tasks % parts;
        const int64_t first = task / pixel_tasks / parts * kByteRows;
        if (s.amx) byte_amx_begin();
        all.blocks(part + p, x + p * s.part_words(), row0, rows, from,
                   std::min(blocks, from + each), first,
                   by_rows ? std::min(s.outputs, first + kByteRows) : s.outputs,
                   reinterpret_cast<uint32_t*>(stages + static_cast<size_t>(worker) * b.stage));
        if (s.amx) byte_amx_end();
      });
    }
  }
  return {};
}

bool depthwise(const KernelQuery& q) {
  return q.out[0].numel() != 0 && q.in[0].numel() != 0 && match_qlinear_depthwise(q);
}

}  // namespace

WICK_CPU_ROWS(QLinearConv,
              {"qlinear_conv.windows.simd", kContiguous, match_qlinear_windows,
               plan_qlinear_windows, pack_qlinear_windows, run_qlinear_windows},
              {"qlinear_conv.depthwise.simd", kContiguous, depthwise, plan_qlinear_depthwise,
               pack_qlinear_depthwise, run_qlinear_depthwise},
              {"qlinear_conv.bytes.simd", kContiguous, match, plan, pack, run});

}  // namespace wick
