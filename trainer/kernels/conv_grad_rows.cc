// Kernel rows of ConvInputGrad and ConvWeightGrad, implemented with conv_grad.h.
#include "runtime/kernels/conv/conv_shape.h"
#include "runtime/kernels/elementwise/via_f32.h"
#include "trainer/kernels/conv_grad.h"
#include "trainer/kernels/kernel_set.h"

namespace wick {
namespace {

// dy, w -> dx
ConvShape input_grad_shape(Span<const TensorView> in, Span<const TensorView> out,
                           const void* attrs) {
  const auto& a = *static_cast<const ConvGradAttrs*>(attrs);
  return conv_shape(out[0].shape, in[1].shape, in[0].shape, a.conv);
}
// x, dy -> dw
struct WeightGradShape {
  ConvShape s;
  ConvDepth depth;
};
WeightGradShape weight_grad_shape(Span<const TensorView> in, Span<const TensorView> out,
                                  const void* attrs) {
  const auto& a = *static_cast<const ConvGradAttrs*>(attrs);
  const Shape &x = in[0].shape, &w = out[0].shape, &y = in[1].shape;
  ConvShape s = conv_shape(x, w, y, a.conv);
  ConvDepth depth;
  if (x.rank() == 5) {
    s.n = x[0], s.ic = x[1];
    depth = {x[2],
             y[2],
             w[2],
             y[2] == 1 ? 1 : a.conv.strides.at_or(0, 1),
             a.conv.dilations.at_or(0, 1),
             a.conv.pads.at_or(0, 0)};
  }
  if (depth.out * s.oh * s.ow == 0) s.n = 0;  // images without gradients are skipped
  return {s, depth};
}

// The weight gradient also addresses grad_output by 32-bit offsets.
bool fits(const WeightGradShape& g) {
  const ConvShape& s = g.s;
  const ConvDepth& d = g.depth;
  double margin =
      static_cast<double>((s.oh + s.h + s.kh * s.dilation_h) * (s.ow + s.w + s.kw * s.dilation_w));
  if (d.in != 1 || d.out != 1 || d.kernel != 1) {
    // A padded volume out of proportion to the work is left to the reference.
    const double span = static_cast<double>(d.out) * static_cast<double>(d.stride) +
                        static_cast<double>(d.kernel) * static_cast<double>(d.dilation);
    if (span > 4 * static_cast<double>(d.in + d.out + d.kernel)) return false;
    margin *= span + static_cast<double>(d.in);
  }
  return s.oc > 0 && conv_supported(s) && static_cast<double>(s.group_out()) * margin < 2e9 &&
         static_cast<double>(s.oc * s.group_in() * s.taps()) * static_cast<double>(d.kernel) < 2e9;
}

TransposedShape transposed(Span<const TensorView> in, Span<const TensorView> out,
                           const void* attrs) {
  return transposed_shape(in[0].shape, in[1].shape, out[0].shape,
                          static_cast<const ConvGradAttrs*>(attrs)->conv);
}

bool input_match(const KernelQuery& q) {
  return q.in[0].dtype == DType::kF32 && q.in[0].rank() <= 5 &&
         TransposedConv::fits(transposed(q.in, q.out, q.attrs));
}
bool weight_match(const KernelQuery& q) {
  return q.in[0].dtype == DType::kF32 && q.in[0].rank() <= 5 &&
         fits(weight_grad_shape(q.in, q.out, q.attrs));
}

Status input_plan(const KernelQuery& q, KernelPlan* p) {
  const TileKernels& t = tile_kernels();
  p->keep(TilePlan{&t, q.threads});
  if (q.in[0].rank() == 5) {
    p->scratch_bytes = TransposedConv(t, transposed(q.in, q.out, q.attrs), q.threads).total_bytes();
    return {};
  }
  p->scratch_bytes =
      conv_input_grad_scratch_bytes(t, input_grad_shape(q.in, q.out, q.attrs), q.threads);
  return {};
}
Status weight_plan(const KernelQuery& q, KernelPlan* p) {
  const TileKernels& t = tile_kernels();
  p->keep(TilePlan{&t, q.threads});
  const WeightGradShape g = weight_grad_shape(q.in, q.out, q.attrs);
  p->scratch_bytes = conv_weight_grad_scratch_bytes(t, g.s, q.threads, g.depth);
  return {};
}

Status input_run(const KernelCtx& ctx, Span<const TensorView> in, Span<TensorView> out,
                 const void* attrs) {
  const auto& plan = ctx.plan->kept<TilePlan>();
  auto* scratch = static_cast<float*>(ctx.scratch);
  if (in[0].rank() == 5) {
    TransposedConv(*plan.kernels, transposed(in, out, attrs), plan.threads)
        .run_unpacked(in[0].as<float>(), in[1].as<float>(), out[0].as<float>(), scratch, ctx.pool);
    return {};
  }
  conv_input_grad(*plan.kernels, input_grad_shape(in, out, attrs), in[0].as<float>(),
                  in[1].as<float>(), out[0].as<float>(), scratch, plan.threads, ctx.pool);
  return {};
}
Status weight_run(const KernelCtx& ctx, Span<const TensorView> in, Span<TensorView> out,
                  const void* attrs) {
  const WeightGradShape g = weight_grad_shape(in, out, attrs);
  const auto& plan = ctx.plan->kept<TilePlan>();
  conv_weight_grad(*plan.kernels, g.s, in[0].as<float>(), in[1].as<float>(), out[0].as<float>(),
                   static_cast<float*>(ctx.scratch), plan.threads, ctx.pool, g.depth);
  return {};
}

}  // namespace

static constexpr KernelRow kInputGrad = {
    "conv_input_grad.f32.simd", kContiguous, input_match, input_plan, nullptr, input_run};
static constexpr KernelRow kWeightGrad = {
    "conv_weight_grad.f32.simd", kContiguous, weight_match, weight_plan, nullptr, weight_run};
WICK_CPU_ROWS(ConvInputGrad, kInputGrad, WICK_VIA_F32("conv_input_grad.16.simd", kInputGrad));
WICK_CPU_ROWS(ConvWeightGrad, kWeightGrad, WICK_VIA_F32("conv_weight_grad.16.simd", kWeightGrad));

}  // namespace wick
