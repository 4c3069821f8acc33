// The row of QLinearConv on top of byte_windows.h: x is read in place.
#include <algorithm>
#include <cstring>

#include "runtime/core/byte_count.h"
#include "runtime/core/int_math.h"
#include "runtime/kernels/bytes/byte_windows.h"
#include "runtime/kernels/bytes/qlinear.h"
#include "runtime/kernels/bytes/qlinear_channels.h"
#include "runtime/kernels/bytes/qlinear_depthwise.h"
#include "runtime/kernels/epilogue.h"

namespace wick {
namespace {

constexpr int64_t kTaskOutputs = 1 << 13;  // approximate outputs per task, or one channel
constexpr int64_t kMostTaps = kWindow;     // per kernel row; a window holds no more

constexpr int64_t kMostOutputs = 1 << 18, kFewOutputs = 1 << 13;  // per plane
constexpr int64_t kFewPlanes = 8;

ByteWindowShape shape_of(const ByteConv& s) { return {s.h, s.w}; }

// The layout of scratch, in bytes: tables, numbers per channel, words of ones, weights.
struct Rooms {
  size_t starts, order, valid, blocks, clips, channels, ones, weights;
  size_t all() const {
    return byte_count(uint64_t{starts} + order + valid + blocks + clips + uint64_t{3} * channels +
                      ones + weights);
  }
};
size_t weight_bytes(const ByteConv& s) {
  return byte_count(4 * static_cast<uint64_t>(s.groups * (shape_of(s).words() + 1)));
}
Rooms rooms_of(const ByteConv& s, const ByteWindowCounts& n) {
  const ByteWindowShape shape = shape_of(s);
  return {rounded(s.w.out * static_cast<int64_t>(sizeof(ByteWindowStart))),
          rounded(kWindowKinds * shape.quads() * kWindow),
          rounded(kWindowKinds * shape.quads() * 8),
          rounded(n.blocks * static_cast<int64_t>(sizeof(ByteWindowBlock))),
          rounded(n.clips * 8),
          rounded(4 * s.groups),
          rounded(4 * shape.words()),
          rounded(static_cast<int64_t>(weight_bytes(s)))};
}

// Counts the entries that the tables will have.
ByteWindowCounts count(const ByteConv& s) {
  ByteWindowStart starts[kWindowColumns];
  return fill_byte_windows(shape_of(s), {starts, nullptr, nullptr, nullptr, nullptr});
}

// Packs [channel][row of the kernel][four taps], followed by each channel's sum.
void pack_weights(const ByteConv& s, const TensorView& w, void* dst) {
  const auto* bytes = static_cast<const uint8_t*>(w.data);
  const uint8_t flip = w.dtype == DType::kU8 ? 0x80 : 0;
  const ByteWindowShape shape = shape_of(s);
  auto* to = static_cast<uint32_t*>(dst);
  memset(to, 0, weight_bytes(s));
  for (int64_t c = 0; c < s.groups; ++c) {
    for (int64_t tap = 0; tap < s.taps(); ++tap) {
      const auto v = static_cast<uint8_t>(bytes[c * s.taps() + tap] ^ flip);
      const int64_t y = tap / s.w.taps, x = tap % s.w.taps;
      to[c * shape.words() + y * shape.quads() + x / 4] |= static_cast<uint32_t>(v) << (x % 4 * 8);
      to[s.groups * shape.words() + c] += static_cast<uint32_t>(static_cast<int8_t>(v));
    }
  }
}

// Computes a plane whose weights have a zero point: this adds a multiple of the sum of a pixel's
// bytes.
void with_zero(const ByteKernels& t, ByteWindows p, const uint32_t* ones, const int32_t* factor) {
  ByteRowsEnd e{};
  e.rows = 1, e.columns = kByteColumns;
  e.add = p.add, e.multiplier = p.multiplier, e.factor = factor;
  e.lo = p.lo, e.hi = p.hi, e.zero = p.zero;
  alignas(64) int32_t sums[kByteColumns] = {}, column_sums[kByteColumns] = {};
  const ByteWindowBlock* blocks = p.blocks;
  p.planes = 1;
  for (int64_t i = p.block_count; i > 0; --i, ++blocks) {
    ByteWindows one = p;
    one.blocks = blocks, one.block_count = 1;
    one.sums = sums;
    t.windows(one);
    one.sums = column_sums, one.weights = ones;
    t.windows(one);
    e.sums = sums, e.column_sums = column_sums, e.mask = blocks->mask, e.y = p.y + blocks->y;
    t.end_rows(e);
  }
}

}  // namespace

bool match_qlinear_windows(const KernelQuery& q) {
  const auto& a = q.as<ConvAttrs>();
  const Shape &x = q.in[0].shape, &w = q.in[3].shape;
  if (byte_kernels().windows == nullptr || q.out[0].numel() == 0 || q.in[0].numel() == 0)
    return false;
  if (x.rank() != 4 || w[1] != 1 || w[0] != a.group || a.group == 1) return false;
  const ByteConv s = byte_conv(q.in, q.out[0], a);
  for (const ByteAxis* axis : {&s.h, &s.w}) {
    if (axis->out > kWindowColumns || axis->in > (1 << 14) || axis->taps > kMostTaps ||
        axis->stride > kWindow || axis->dilation > kWindow || axis->pad > (1 << 12))
      return false;
  }
  // Windows are searched anew in each call, which takes about as long as three planes.
  const int64_t outputs = s.h.out * s.w.out;
  if (outputs > kMostOutputs || (outputs > kFewOutputs && s.images * s.groups < kFewPlanes))
    return false;
  return count(s).fits;
}

struct Windows {
  const ByteKernels* kernels;
  ByteWindowCounts counts;
};

Status plan_qlinear_windows(const KernelQuery& q, KernelPlan* p) {
  const ByteConv s = byte_conv(q.in, q.out[0], q.as<ConvAttrs>());
  const ByteWindowCounts n = count(s);
  p->keep(Windows{&byte_kernels(), n});
  p->scratch_bytes = rooms_of(s, n).all();
  p->packs[0] = {3, packed_layout(PackedKind::kByteTaps, 4), weight_bytes(s)};
  return {};
}

Status pack_qlinear_windows(const KernelQuery& q, const KernelPlan&, int, void* dst) {
  pack_weights(byte_conv(q.in, q.out[0], q.as<ConvAttrs>()), q.in[3], dst);
  return {};
}

Status run_qlinear_windows(const KernelCtx& ctx, Span<const TensorView> in, Span<TensorView> out,
                           const void* attrs) {
  ProductScales scales;
  WICK_TRY(product_scales(in, 0, 3, 6, &scales));
  const auto& plan = ctx.plan->kept<Windows>();
  const ByteKernels& t = *plan.kernels;
  const ByteConv s = byte_conv(in, out[0], *static_cast<const ConvAttrs*>(attrs));
  const ByteWindowShape shape = shape_of(s);
  const Rooms b = rooms_of(s, plan.counts);
  ScratchPieces scratch(ctx.scratch);
  ByteWindowTables tables;
  tables.starts = scratch.take<ByteWindowStart>(b.starts);
  tables.order = scratch.take<uint8_t>(b.order);
  tables.valid = scratch.take<uint64_t>(b.valid);
  tables.blocks = scratch.take<ByteWindowBlock>(b.blocks);
  tables.clips = scratch.take<uint64_t>(b.clips);
  ByteChannels channels = take_channels(&scratch, b.channels);
  auto* ones = scratch.take<uint32_t>(b.ones);
  const auto* weights = static_cast<const uint32_t*>(ctx.packed[0]);
  if (weights == nullptr) {
    auto* unpacked = scratch.take<uint32_t>(0);
    pack_weights(s, in[3], unpacked);
    weights = unpacked;
  }
  fill_byte_windows(shape, tables);
  for (int64_t i = 0; i < shape.words(); ++i) {
    const int64_t taps = std::min<int64_t>(4, s.w.taps - i % shape.quads() * 4);
    ones[i] = 0x01010101u >> (8 * (4 - taps));
  }
  const uint8_t flip = flip_of(in[0]);
  fill_byte_channels(in, scales, s.taps(), zero_point(in, 2) + flip,
                     reinterpret_cast<const int32_t*>(weights + s.groups * shape.words()), s.groups,
                     &channels);
  const ByteRange to = byte_range(in[7].dtype, zero_point(in, 7));
  ByteWindows all{};
  all.x_plane = s.h.in * s.w.in, all.y_plane = s.h.out * s.w.out;
  all.blocks = tables.blocks, all.block_count = plan.counts.blocks;
  all.order = tables.order, all.valid = tables.valid, all.clips = tables.clips;
  all.rows = s.h.taps, all.quads = shape.quads(), all.row_step = shape.row_step();
  all.x_zero = static_cast<uint8_t>(zero_point(in, 2)), all.flip = flip;
  all.lo = to.lo, all.hi = to.hi, all.zero = to.zero;
  const auto* x = static_cast<const uint8_t*>(in[0].data);
  auto* y = static_cast<uint8_t*>(out[0].data);
  // Computes planes [first, until) of one image.
  const auto planes = [&](int64_t first, int64_t until) {
    const int64_t c = first % s.groups;
    ByteWindows p = all;
    p.x = x + first * all.x_plane, p.y = y + first * all.y_plane, p.planes = until - first;
    p.weights = weights + c * shape.words();
    p.add = channels.add + c, p.multiplier = channels.multiplier + c;
    if (!channels.any_factor) return t.windows(p);
    for (; first < until; ++first) {
      with_zero(t, p, ones, channels.factor + first % s.groups);
      p.x += all.x_plane, p.y += all.y_plane, p.weights += shape.words();
      ++p.add, ++p.multiplier;
    }
  };
  const int64_t each = std::max<int64_t>(1, kTaskOutputs / all.y_plane);
  const int64_t of_image = (s.groups + each - 1) / each;
  parallel_for(ctx.pool, s.images * of_image, [&](int64_t task, int) {
    const int64_t image = task / of_image * s.groups, first = task % of_image * each;
    planes(image + first, image + std::min(s.groups, first + each));
  });
  return {};
}

}  // namespace wick
