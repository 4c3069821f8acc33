// Kernel rows of Conv and FusedConv whose input, output or both are in blocked layout (blocked.h).
// They are bit-identical to conv.h.
#include <algorithm>
#include <cstring>

#include "runtime/core/byte_count.h"
#include "runtime/core/int_math.h"
#include "runtime/kernels/blocked/blocked.h"
#include "runtime/kernels/blocked/blocked_call.h"
#include "runtime/kernels/blocked/blocked_conv.h"
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
  const BlockedCall call = {tiles,  t, c, x,
                            packed, y, e, kept.finite_at != 0 && packed[kept.finite_at] == 1.0f};
  call.run(ctx.pool, kept.threads, reinterpret_cast<float*>(scratch + kept.work));
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
  const int64_t floats = BlockedCall::scratch_floats(c, q.threads);
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
