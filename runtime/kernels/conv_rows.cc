// Rows of Conv and FusedConv over conv.h.
#include "runtime/kernels/conv_shape.h"
#include "runtime/kernels/epilogue.h"
#include "runtime/kernels/kernel_set.h"

namespace wick {
namespace {

const ConvAttrs& conv_attrs(OpId op, const void* attrs) {
  return op == OpId::kConv ? *static_cast<const ConvAttrs*>(attrs)
                           : static_cast<const FusedConvAttrs*>(attrs)->conv;
}

ConvShape shape_of(const KernelQuery& q) {
  return conv_shape(q.in[0].shape, q.in[1].shape, q.out[0].shape, conv_attrs(q.op, q.attrs));
}

bool match(const KernelQuery& q) {
  return q.in[0].dtype == DType::kF32 && q.in[0].rank() <= 4 && conv_supported(shape_of(q));
}

size_t round_up_64(size_t n) { return (n + 63) / 64 * 64; }

Status plan(const KernelQuery& q, KernelPlan* p) {
  const TileKernels& t = tile_kernels();
  const ConvPlan c = conv_plan(t, shape_of(q), q.threads);
  p->fn[0] = &t;
  p->ints[0] = q.threads;
  const size_t weights = conv_packed_bytes(t, c);
  p->ints[1] = static_cast<int64_t>(round_up_64(weights));
  p->scratch_bytes = round_up_64(weights) + conv_scratch_bytes(t, c, q.threads);
  const bool by_channel = c.path == ConvPlan::Path::kChannels;
  const int64_t unit = by_channel ? conv_panel_cols(t, c.shape.group_out()) : t.mr;
  const PackedKind kind = c.path == ConvPlan::Path::kDepthwise ? PackedKind::kDepthwise
                          : by_channel                         ? PackedKind::kConvChannels
                                                               : PackedKind::kConvPixels;
  // Panels are of one group's outputs: the same weights in other groups are other panels.
  const bool one_form = c.path == ConvPlan::Path::kDepthwise || c.shape.groups == 1;
  p->packs[0] = {1, packed_layout(kind, unit), weights, one_form ? 0 : c.shape.groups};
  return {};
}

Status pack(const KernelQuery& q, const KernelPlan& p, int, void* dst) {
  const auto& t = *static_cast<const TileKernels*>(p.fn[0]);
  conv_pack(t, conv_plan(t, shape_of(q), q.threads), q.in[1].as<float>(), static_cast<float*>(dst));
  return {};
}

Status run_conv(const KernelCtx& ctx, Span<const TensorView> in, Span<TensorView> out,
                const ConvAttrs& attrs, const EpilogueAttrs* epilogue) {
  const auto& t = *static_cast<const TileKernels*>(ctx.plan->fn[0]);
  const ConvShape s = conv_shape(in[0].shape, in[1].shape, out[0].shape, attrs);
  const ConvPlan c = conv_plan(t, s, static_cast<int>(ctx.plan->ints[0]));
  auto* scratch = static_cast<char*>(ctx.scratch);
  const auto* packed = static_cast<const float*>(ctx.packed[0]);
  if (packed == nullptr) {
    auto* fresh = reinterpret_cast<float*>(scratch);
    conv_pack(t, c, in[1].as<float>(), fresh);
    packed = fresh;
  }
  conv(t, c, in[0].as<float>(), packed, out[0].as<float>(), make_epilogue(in, epilogue),
       reinterpret_cast<float*>(scratch + ctx.plan->ints[1]), ctx.pool);
  return {};
}

Status run(const KernelCtx& ctx, Span<const TensorView> in, Span<TensorView> out,
           const void* attrs) {
  return run_conv(ctx, in, out, *static_cast<const ConvAttrs*>(attrs), nullptr);
}
Status fused_run(const KernelCtx& ctx, Span<const TensorView> in, Span<TensorView> out,
                 const void* attrs) {
  const auto& a = *static_cast<const FusedConvAttrs*>(attrs);
  return run_conv(ctx, in, out, a.conv, &a.epilogue);
}

}  // namespace

WICK_CPU_ROWS(Conv, {"conv.f32.simd", kContiguous, match, plan, pack, run});
WICK_CPU_ROWS(FusedConv, {"fused_conv.f32.simd", kContiguous, match, plan, pack, fused_run});

}  // namespace wick
