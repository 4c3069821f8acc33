// Kernel rows of Conv and FusedConv on top of conv.h. With three spatial dims the outputs are
// computed one depth at a time: the planes that the kernel's depths read are gathered (zeros beyond
// the ends) and form a two-dimensional convolution.
#include <cstring>

#include "runtime/core/byte_count.h"
#include "runtime/core/int_math.h"
#include "runtime/kernels/blocked/blocked_conv.h"
#include "runtime/kernels/blocked/blocked_rows.h"
#include "runtime/kernels/conv/conv_pairs.h"
#include "runtime/kernels/conv/conv_shape.h"
#include "runtime/kernels/conv/winograd.h"
#include "runtime/kernels/elementwise/half_kernels.h"
#include "runtime/kernels/elementwise/via_f32.h"
#include "runtime/kernels/epilogue.h"
#include "runtime/kernels/kernel_set.h"
#include "runtime/kernels/product_rows.h"
#include "runtime/ops/products.h"

namespace wick {
namespace {

uint64_t floats_64(int64_t n) { return rounded(static_cast<uint64_t>(n) * sizeof(float)); }

// Scratch for three spatial dims: the gathered planes and the outputs of one depth, in floats.
int64_t gathered(const ConvShape& s) { return s.ic * s.h * s.w; }
int64_t results(const ConvShape& s) { return s.oc * s.oh * s.ow; }

bool match(const KernelQuery& q) {
  if (q.in[0].dtype != DType::kF32 || q.in[0].rank() > 5) return false;
  if (takes_winograd(DType::kF32, q.in[1].shape, conv_attrs(q)) ||
      takes_pairs(DType::kF32, q.in[1].shape, conv_attrs(q)))
    return false;
  if (q.in[0].rank() < 5) return conv_supported(conv_shape(q));
  // A kernel may be far deeper than its input: this limits the scratch for it.
  const Shape &x = q.in[0].shape, &w = q.in[1].shape;
  const double channels = static_cast<double>(x[1]) * static_cast<double>(w[2]);
  return channels < 1e8 && channels * static_cast<double>(x[3]) * static_cast<double>(x[4]) < 1e8 &&
         conv_supported(conv_shape(q));
}

// Offsets in scratch: of conv()'s own scratch, and of the planes gathered for one depth.
struct Rows {
  const TileKernels* kernels;
  int threads;
  size_t work, planes;
};

Status plan(const KernelQuery& q, KernelPlan* p) {
  const TileKernels& t = tile_kernels();
  const ConvPlan c = conv_plan(t, conv_shape(q), q.threads);
  const size_t weights = conv_packed_bytes(t, c);
  Rows rows{&t, q.threads, rounded(weights), 0};
  p->scratch_bytes = byte_count(rounded(weights) + conv_scratch_bytes(t, c, q.threads));
  if (q.in[0].rank() == 5) {
    rows.planes = rounded(p->scratch_bytes);
    p->scratch_bytes = byte_count(rounded(p->scratch_bytes) + floats_64(gathered(c.shape)) +
                                  floats_64(results(c.shape)));
  }
  p->keep(rows);
  const bool by_channel = c.path == ConvPlan::Path::kChannels;
  const int64_t unit = by_channel ? conv_panel_cols(t, c.shape.group_out()) : t.mr;
  const PackedKind kind = c.path == ConvPlan::Path::kDepthwise ? PackedKind::kDepthwise
                          : by_channel                         ? PackedKind::kConvChannels
                                                               : PackedKind::kConvPixels;
  // Panels contain outputs of one group, so the same weights have other panels with other groups.
  const bool one_form = c.path == ConvPlan::Path::kDepthwise || c.shape.groups == 1;
  p->packs[0] = {1, packed_layout(kind, unit), weights, one_form ? c.variant() : c.shape.groups};
  return {};
}

Status pack(const KernelQuery& q, const KernelPlan& p, int, void* dst) {
  const TileKernels& t = *p.kept<Rows>().kernels;
  conv_pack(t, conv_plan(t, conv_shape(q), q.threads), q.in[1].as<float>(),
            static_cast<float*>(dst));
  return {};
}

// Gathers the planes that output depth `at` reads, channel by channel.
void gather(const TensorView& x, int64_t image, const Shape& w, const ConvAttrs& a, int64_t at,
            float* to) {
  const int64_t plane = x.shape[3] * x.shape[4];
  const size_t bytes = static_cast<size_t>(plane) * sizeof(float);
  const int64_t first = at * a.strides.at_or(0, 1) - a.pads.at_or(0, 0);
  for (int64_t c = 0; c < x.shape[1]; ++c) {
    const float* from = x.as<float>() + (image * x.shape[1] + c) * x.shape[2] * plane;
    for (int64_t k = 0; k < w[2]; ++k, to += plane) {
      const int64_t d = first + k * a.dilations.at_or(0, 1);
      if (d >= 0 && d < x.shape[2]) {
        memcpy(to, from + d * plane, bytes);
      } else {
        memset(to, 0, bytes);
      }
    }
  }
}

void run_depths(const TileKernels& t, const ConvPlan& c, Span<const TensorView> in, TensorView& y,
                const ConvAttrs& attrs, const float* packed, const Epilogue& epilogue,
                float* scratch, float* planes, ThreadPool* pool) {
  float* result = planes + floats_64(gathered(c.shape)) / sizeof(float);
  const int64_t plane = c.shape.oh * c.shape.ow, depths = y.shape[2];
  for (int64_t n = 0; n < y.shape[0]; ++n) {
    for (int64_t d = 0; d < depths; ++d) {
      if (stopped()) return;
      gather(in[0], n, in[1].shape, attrs, d, planes);
      conv(t, c, planes, packed, result, {}, scratch, pool);
      const int64_t at = (n * y.shape[1] * depths + d) * plane;
      Epilogue e = epilogue;
      e.channel = Epilogue::Channel::kRow;
      e.residual_step = depths * plane;
      if (e.residual != nullptr) e.residual += at;
      t.finish(e, 0, result, plane, y.as<float>() + at, depths * plane, y.shape[1], plane);
    }
  }
}

Status run_conv(const KernelCtx& ctx, Span<const TensorView> in, Span<TensorView> out,
                const ConvAttrs& attrs, const EpilogueAttrs* epilogue) {
  const auto& plan = ctx.plan->kept<Rows>();
  const TileKernels& t = *plan.kernels;
  const ConvShape s = conv_shape(in[0].shape, in[1].shape, out[0].shape, attrs);
  const ConvPlan c = conv_plan(t, s, plan.threads);
  auto* scratch = static_cast<char*>(ctx.scratch);
  const auto* packed = static_cast<const float*>(ctx.packed[0]);
  if (packed == nullptr) {
    auto* fresh = reinterpret_cast<float*>(scratch);
    conv_pack(t, c, in[1].as<float>(), fresh, ctx.pool);
    packed = fresh;
  }
  const Epilogue e = make_epilogue(ctx, in, epilogue);
  auto* work = reinterpret_cast<float*>(scratch + plan.work);
  if (in[0].rank() == 5) {
    run_depths(t, c, in, out[0], attrs, packed, e, work,
               reinterpret_cast<float*>(scratch + plan.planes), ctx.pool);
  } else {
    conv(t, c, in[0].as<float>(), packed, out[0].as<float>(), e, work, ctx.pool);
  }
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

static constexpr KernelRow kConv = {"conv.f32.simd", kContiguous, match, plan, pack, run};
static constexpr KernelRow kFusedConv = {
    "fused_conv.f32.simd", kContiguous, match, plan, pack, fused_run};
WICK_CPU_ROWS(Conv, kConv);
WICK_CPU_ROWS(FusedConv, kFusedConv);
WICK_BLOCKED_ROWS(Conv, kBlockedConv);
WICK_BLOCKED_ROWS(FusedConv, kBlockedFusedConv);
#if WICK_BLOCKS
WICK_PRODUCT_ROWS(Conv, kWinogradConv, kPairsConv, kBlockedWinogradConv, kBlockedPairsConv);
WICK_PRODUCT_ROWS(FusedConv, kWinogradFusedConv, kPairsFusedConv, kBlockedWinogradFusedConv,
                  kBlockedPairsFusedConv);
#else
WICK_PRODUCT_ROWS(Conv, kWinogradConv, kPairsConv);
WICK_PRODUCT_ROWS(FusedConv, kWinogradFusedConv, kPairsFusedConv);
#endif
WICK_HALF_ROWS(Conv, WICK_VIA_F32("conv.16.simd", kConv));

}  // namespace wick
