#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "runtime/kernels/reduce/norm.cc"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "runtime/kernels/blocked/blocked_rows.h"
#include "runtime/kernels/elementwise/elementwise.h"
#include "runtime/kernels/elementwise/half_kernels.h"
#include "runtime/kernels/elementwise/via_f32.h"
#include "runtime/kernels/kernel_set.h"

#ifndef WICK_KERNELS_NORM_BODIES_
#define WICK_KERNELS_NORM_BODIES_
namespace wick {
using ScaleShiftBody = void (*)(const float* x, const float* scale, const float* shift,
                                int64_t channels, int64_t inner, int64_t begin, int64_t end,
                                float* y);
using FoldBody = void (*)(const float* gamma, const float* beta, const float* mean,
                          const float* var, float epsilon, int64_t n, float* scale, float* shift);
using SoftmaxBody = void (*)(const float* x, int64_t n, int64_t inner, int64_t begin, int64_t end,
                             float* y);
}  // namespace wick
#endif

#include "runtime/kernels/reduce/norm-inl.h"

#if HWY_ONCE
#include <cstring>

#include "runtime/core/byte_count.h"
#include "runtime/core/int_math.h"

namespace wick {
namespace {

HWY_EXPORT(find_scale_shift);
HWY_EXPORT(find_fold);
HWY_EXPORT(find_softmax);

bool match_f32(const KernelQuery& q) { return q.in[0].dtype == DType::kF32; }

struct BatchNormBodies {
  ScaleShiftBody apply;
  FoldBody fold;
};

Status plan_batch_norm(const KernelQuery& q, KernelPlan* p) {
  p->keep(
      BatchNormBodies{HWY_DYNAMIC_DISPATCH(find_scale_shift)(), HWY_DYNAMIC_DISPATCH(find_fold)()});
  p->scratch_bytes = static_cast<size_t>(q.in[0].shape[1]) * 2 * sizeof(float);
  return {};
}

Status run_batch_norm(const KernelCtx& ctx, Span<const TensorView> in, Span<TensorView> out,
                      const void* attrs) {
  const auto& [apply, fold] = ctx.plan->kept<BatchNormBodies>();
  const int64_t channels = in[0].shape[1];
  int64_t inner = 1;
  for (int i = 2; i < in[0].rank(); ++i) inner *= in[0].shape[i];
  float* scale = static_cast<float*>(ctx.scratch);
  float* shift = scale + channels;
  fold(in[1].as<float>(), in[2].as<float>(), in[3].as<float>(), in[4].as<float>(),
       static_cast<float>(static_cast<const BatchNormAttrs*>(attrs)->epsilon), channels, scale,
       shift);
  parallel_items(ctx.pool, in[0].shape[0] * channels, inner, [&](int64_t begin, int64_t end) {
    apply(in[0].as<float>(), scale, shift, channels, inner, begin, end, out[0].as<float>());
  });
  return {};
}

bool match_softmax(const KernelQuery& q) { return match_f32(q) && q.in[0].rank() > 0; }

struct SoftmaxPlan {
  SoftmaxBody body;
  int axis;
};

template <bool log_form>
Status plan_softmax(const KernelQuery& q, KernelPlan* p) {
  const int64_t axis = q.as<AxisAttrs>().axis;
  p->keep(SoftmaxPlan{HWY_DYNAMIC_DISPATCH(find_softmax)(log_form, q.edition),
                      static_cast<int>(axis < 0 ? axis + q.in[0].rank() : axis)});
  return {};
}

Status run_softmax(const KernelCtx& ctx, Span<const TensorView> in, Span<TensorView> out,
                   const void*) {
  const auto& [body, axis] = ctx.plan->kept<SoftmaxPlan>();
  const int64_t n = in[0].shape[axis];
  const int64_t rows = n == 0 ? 0 : in[0].numel() / n;
  int64_t inner = 1;
  for (int i = axis + 1; i < in[0].rank(); ++i) inner *= in[0].shape[i];
  parallel_items(ctx.pool, rows, n * 4, [&](int64_t begin, int64_t end) {
    body(in[0].as<float>(), n, inner, begin, end, out[0].as<float>());
  });
  return {};
}

constexpr KernelRow kBatchNorm = {"batch_norm.f32.simd", kInPlace, match_f32,
                                  plan_batch_norm,       nullptr,  run_batch_norm};
// Values in blocked layout, whose channels are the columns of a block.
bool blocked_fits(const KernelQuery& q) {
  const BlockedKernels& t = blocked_kernels();
  return is_blocked(t, q.in[0]) && is_blocked(t, q.out[0]);
}

struct BlockedBatchNorm {
  FoldBody fold;
  const TileKernels* tiles;
};

Status plan_blocked(const KernelQuery& q, KernelPlan* p) {
  p->keep(BlockedBatchNorm{HWY_DYNAMIC_DISPATCH(find_fold)(), &tile_kernels()});
  p->scratch_bytes = static_cast<size_t>(q.in[0].shape[1]) * 2 * sizeof(float);
  return {};
}

Status run_blocked(const KernelCtx& ctx, Span<const TensorView> in, Span<TensorView> out,
                   const void* attrs) {
  const auto& [fold, tiles] = ctx.plan->kept<BlockedBatchNorm>();
  const TensorView& x = in[0];
  const int64_t channels = x.shape[1], blocks = blocks_of(x), pixels = x.shape[2] * x.shape[3];
  const int64_t lanes = x.block;
  float* scale = static_cast<float*>(ctx.scratch);
  fold(in[1].as<float>(), in[2].as<float>(), in[3].as<float>(), in[4].as<float>(),
       static_cast<float>(static_cast<const BatchNormAttrs*>(attrs)->epsilon), channels, scale,
       scale + channels);
  Epilogue e;
  e.scale = scale, e.shift = scale + channels;
  const TileKernels* t = tiles;
  parallel_items(ctx.pool, x.shape[0] * blocks, block_floats(x), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end && !stopped(); ++i) {
      const int64_t first = i % blocks * lanes, at = i * block_floats(x);
      t->finish(e, first, x.as<float>() + at, lanes, out[0].as<float>() + at, lanes, pixels,
                first + lanes < channels ? lanes : channels - first);
    }
  });
  return {};
}

constexpr KernelRow kBlockedBatchNorm = {"batch_norm.f32.blocked",
                                         kBlocked | kInPlace,
                                         blocked_fits,
                                         plan_blocked,
                                         nullptr,
                                         run_blocked};
// Over the channels of blocked values: those of some pixels are copied to rows and back, to blocks
// or to plain maps.
constexpr int64_t kSoftmaxPixels = 16;

struct ChannelSoftmax {
  SoftmaxBody body;
  const TileKernels* tiles;
};

bool match_channels(const KernelQuery& q) {
  const BlockedKernels& t = blocked_kernels();
  const TensorView& y = q.out[0];
  return is_blocked(t, q.in[0]) && axis_of(q.as<AxisAttrs>().axis, 4) == 1 &&
         (y.block == 0 || is_blocked(t, y));
}

template <bool log_form>
Status plan_channels(const KernelQuery& q, KernelPlan* p) {
  p->keep(ChannelSoftmax{HWY_DYNAMIC_DISPATCH(find_softmax)(log_form, q.edition), &tile_kernels()});
  const auto row = static_cast<uint64_t>(q.in[0].shape[1]) * sizeof(float);
  p->scratch_bytes = byte_count(row * 2 * kSoftmaxPixels * static_cast<uint64_t>(q.threads));
  return {};
}

Status run_channels(const KernelCtx& ctx, Span<const TensorView> in, Span<TensorView> out,
                    const void*) {
  const ChannelSoftmax plan = ctx.plan->kept<ChannelSoftmax>();
  const TensorView &x = in[0], &y = out[0];
  const int64_t channels = x.shape[1], pixels = x.shape[2] * x.shape[3], lanes = x.block;
  const int64_t parts = ceil_div(pixels, kSoftmaxPixels), blocks = blocks_of(x);
  parallel_for(ctx.pool, x.shape[0] * parts, [&](int64_t task, int worker) {
    const int64_t image = task / parts, first = task % parts * kSoftmaxPixels;
    const int64_t count = first + kSoftmaxPixels < pixels ? kSoftmaxPixels : pixels - first;
    float* from = static_cast<float*>(ctx.scratch) + worker * 2 * kSoftmaxPixels * channels;
    float* to = from + kSoftmaxPixels * channels;
    const auto each_piece = [&](const TensorView& v, auto copy) {
      for (int64_t b = 0; b < blocks && !stopped(); ++b) {
        const int64_t some = (b + 1) * lanes < channels ? lanes : channels - b * lanes;
        float* block = v.as<float>() + ((image * blocks + b) * pixels + first) * lanes;
        for (int64_t p = 0; p < count; ++p)
          copy(p * channels + b * lanes, block + p * lanes,
               sizeof(float) * static_cast<size_t>(some));
      }
    };
    each_piece(x, [&](int64_t at, const float* block, size_t n) { memcpy(from + at, block, n); });
    plan.body(from, channels, 1, 0, count, to);
    if (y.block != 0)
      return each_piece(y, [&](int64_t at, float* block, size_t n) { memcpy(block, to + at, n); });
    plan.tiles->transpose(to, channels, y.as<float>() + image * channels * pixels + first, pixels,
                          count, channels);
  });
  return {};
}

constexpr KernelRow kSoftmaxBlocked = {"softmax.f32.blocked", kBlocked, match_channels,
                                       plan_channels<false>,  nullptr,  run_channels};
constexpr KernelRow kLogSoftmaxBlocked = {"log_softmax.f32.blocked", kBlocked, match_channels,
                                          plan_channels<true>,       nullptr,  run_channels};
constexpr KernelRow kSoftmax = {"softmax.f32.simd",  kContiguous, match_softmax,
                                plan_softmax<false>, nullptr,     run_softmax};
constexpr KernelRow kLogSoftmax = {"log_softmax.f32.simd", kContiguous, match_softmax,
                                   plan_softmax<true>,     nullptr,     run_softmax};

}  // namespace

WICK_CPU_ROWS(BatchNorm, kBatchNorm);
WICK_BLOCKED_ROWS(BatchNorm, kBlockedBatchNorm);
WICK_CPU_ROWS(Softmax, kSoftmax);
WICK_BLOCKED_ROWS(Softmax, kSoftmaxBlocked);
WICK_CPU_ROWS(LogSoftmax, kLogSoftmax);
WICK_BLOCKED_ROWS(LogSoftmax, kLogSoftmaxBlocked);
WICK_HALF_ROWS(BatchNorm, WICK_VIA_F32("batch_norm.16.simd", kBatchNorm));
WICK_HALF_ROWS(Softmax, WICK_VIA_F32("softmax.16.simd", kSoftmax));
WICK_HALF_ROWS(LogSoftmax, WICK_VIA_F32("log_softmax.16.simd", kLogSoftmax));

}  // namespace wick
#endif
