// The kernel row of ConvTranspose with a blocked output, where the kernel's positions tile the
// output without overlap: each output has one tap. All positions together are the output channels
// of a 1x1 convolution, whose pixels are then spread.
#include <algorithm>
#include <cstring>

#include "runtime/core/byte_count.h"
#include "runtime/core/int_math.h"
#include "runtime/kernels/blocked/blocked_call.h"
#include "runtime/kernels/blocked/blocked_rows.h"
#include "runtime/kernels/conv/conv_shape.h"
#include "runtime/ops/conv_transpose.h"

namespace wick {
namespace {

struct Kept {
  const TileKernels* tiles;
  const BlockedKernels* kernels;
  int threads;
  size_t work;  // offset of other scratch, after weights that are packed in run()
};

// The channels of a position fill whole blocks.
struct Tiling {
  int64_t kh, kw, channels, stored;
  ConvShape s;  // of the 1x1 convolution

  Tiling(const BlockedKernels& t, const Shape& x, const Shape& w)
      : kh(w[2]), kw(w[3]), channels(w[1]), stored(round_up(w[1], t.lanes)) {
    s.n = x[0], s.ic = x[1], s.oc = kh * kw * stored;
    s.h = s.oh = x[2], s.w = s.ow = x[3];
    s.kh = s.kw = 1;
  }
};

bool fits(const KernelQuery& q) {
  const BlockedKernels& t = blocked_kernels();
  const TensorView &x = q.in[0], &w = q.in[1], &y = q.out[0];
  if (!is_blocked(t, y) || !fills_blocks(t.lanes, y.shape[1]) || x.dtype != DType::kF32)
    return false;
  if (x.block != 0 ? !is_blocked(t, x) : x.rank() != 4) return false;
  if (w.block != 0 || (q.in.size() > 2 && q.in[2].block != 0)) return false;
  const auto& a = q.as<ConvTransposeAttrs>();
  if (a.conv.group != 1 || x.numel() == 0 || w.numel() == 0) return false;
  for (int i = 0; i < 2; ++i) {
    const int64_t kernel = w.shape[2 + i], from = x.shape[2 + i], to = y.shape[2 + i];
    if (a.conv.strides.at_or(i, 1) != kernel || to != from * kernel ||
        transposed_pad(a, from, kernel, to, i) != 0 ||
        (kernel > 1 && a.conv.dilations.at_or(i, 1) != 1))
      return false;
  }
  ConvShape stored = Tiling(t, x.shape, w.shape).s;
  stored.ic = round_up(stored.ic, t.lanes);
  return conv_supported(stored);
}

BlockedCut cut_of(const Kept& kept, const Tiling& tiling, bool x_blocked) {
  return blocked_cut(*kept.kernels, tiling.s, x_blocked, false, kept.threads);
}

Status plan(const KernelQuery& q, KernelPlan* p) {
  Kept kept = {&tile_kernels(), &blocked_kernels(), q.threads, 0};
  const BlockedCut c =
      cut_of(kept, Tiling(*kept.kernels, q.in[0].shape, q.in[1].shape), q.in[0].block != 0);
  const size_t bytes = byte_count(sizeof(float) * static_cast<uint64_t>(c.group_weights()));
  p->packs[0] = {1, packed_layout(PackedKind::kBlockedTransposed, c.unit()), bytes};
  kept.work = rounded(bytes);
  p->keep(kept);
  const int64_t floats = BlockedCall::scratch_floats(c, q.threads);
  p->scratch_bytes = byte_count(rounded(bytes) + sizeof(float) * static_cast<uint64_t>(floats));
  return {};
}

// Panels of channels, each with a vector of channels for each input channel.
void pack_weights(const Kept& kept, const TensorView& w, float* to) {
  const int64_t lanes = kept.kernels->lanes, unit = kBlockedVectors * lanes;
  const int64_t reads = w.shape[0], writes = w.shape[1], taps = w.shape[2] * w.shape[3];
  const int64_t stored = round_up(writes, lanes), all = round_up(taps * stored, unit);
  Poll poll;
  for (int64_t c = 0; c < all && !poll(reads); ++c) {
    float* lane = to + c / unit * unit * reads + c % unit;
    const int64_t tap = c / stored, channel = c % stored;
    const bool there = tap < taps && channel < writes;
    const float* from = w.as<float>() + channel * taps + tap;
    for (int64_t i = 0; i < reads; ++i) lane[i * unit] = there ? from[i * writes * taps] : 0.0f;
  }
}

Status pack(const KernelQuery& q, const KernelPlan& p, int, void* dst) {
  pack_weights(p.kept<Kept>(), q.in[1], static_cast<float*>(dst));
  return {};
}

template <int kLanes>
void spread(const float* from, int64_t n, float* to, int64_t step) {
  for (int64_t i = 0; i < n; ++i) memcpy(to + i * step, from + i * kLanes, kLanes * sizeof(float));
}

Status run(const KernelCtx& ctx, Span<const TensorView> in, Span<TensorView> out, const void*) {
  const auto& kept = ctx.plan->kept<Kept>();
  const BlockedKernels& t = *kept.kernels;
  const Tiling tiling(t, in[0].shape, in[1].shape);
  const BlockedCut c = cut_of(kept, tiling, in[0].block != 0);
  auto* scratch = static_cast<char*>(ctx.scratch);
  const auto* packed = static_cast<const float*>(ctx.packed[0]);
  if (packed == nullptr) {
    pack_weights(kept, in[1], reinterpret_cast<float*>(scratch));
    if (stopped()) return {};
    packed = reinterpret_cast<const float*>(scratch);
  }
  Epilogue bias;
  bias.bias = optional_input(in, 2);
  bias.channel = Epilogue::Channel::kColumn;
  const int64_t lanes = t.lanes, width = tiling.s.w, row = out[0].shape[3];
  const int64_t blocks = blocks_of(out[0]), plane = block_floats(out[0]);
  const auto spread_row = lanes == 16 ? &spread<16> : lanes == 8 ? &spread<8> : &spread<4>;
  const auto take = [&](const BlockedSums& b) {
    for (int64_t v = 0; v * lanes < b.channels; ++v) {
      const int64_t tap = (b.channel + v * lanes) / tiling.stored;
      const int64_t channel = (b.channel + v * lanes) % tiling.stored;
      float* sums = b.sums + v * b.step;
      if (bias.bias != nullptr) {
        kept.tiles->finish(bias, channel, sums, lanes, sums, lanes, b.count,
                           std::min(lanes, tiling.channels - channel));
      }
      float* y = out[0].as<float>() + (b.image * blocks + channel / lanes) * plane;
      for (int64_t at = b.first, n; at < b.first + b.count; at += n, sums += n * lanes) {
        n = std::min(width - at % width, b.first + b.count - at);
        const int64_t to = (at / width * tiling.kh + tap / tiling.kw) * row +
                           at % width * tiling.kw + tap % tiling.kw;
        spread_row(sums, n, y + to * lanes, tiling.kw * lanes);
      }
    }
  };
  const FunctionRef<void(const BlockedSums&)> taken = take;
  const Epilogue none;
  BlockedCall call = {*kept.tiles, t, c, in[0].as<float>(), packed, nullptr, none};
  call.take = &taken;
  call.run(ctx.pool, kept.threads, reinterpret_cast<float*>(scratch + kept.work));
  return {};
}

constexpr KernelRow kTiling = {"conv_transpose.f32.blocked", kBlocked, fits, plan, pack, run};

}  // namespace

WICK_BLOCKED_ROWS(ConvTranspose, kTiling);

}  // namespace wick
