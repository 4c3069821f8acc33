#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "runtime/kernels/reduce/norm.cc"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
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
using SoftmaxBody = void (*)(const float* x, int64_t n, int64_t begin, int64_t end, float* y);
}  // namespace wick
#endif

#include "runtime/kernels/reduce/norm-inl.h"

#if HWY_ONCE
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

// Rows are contiguous where only dims of extent 1 follow the axis.
bool match_softmax(const KernelQuery& q) {
  const TensorView& x = q.in[0];
  if (x.dtype != DType::kF32 || x.rank() == 0) return false;
  int64_t axis = q.as<AxisAttrs>().axis;
  if (axis < 0) axis += x.rank();
  for (int i = static_cast<int>(axis) + 1; i < x.rank(); ++i) {
    if (x.shape[i] != 1) return false;
  }
  return true;
}

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
  parallel_items(ctx.pool, rows, n * 4, [&](int64_t begin, int64_t end) {
    body(in[0].as<float>(), n, begin, end, out[0].as<float>());
  });
  return {};
}

constexpr KernelRow kBatchNorm = {"batch_norm.f32.simd", kInPlace, match_f32,
                                  plan_batch_norm,       nullptr,  run_batch_norm};
constexpr KernelRow kSoftmax = {"softmax.f32.simd",  kContiguous, match_softmax,
                                plan_softmax<false>, nullptr,     run_softmax};
constexpr KernelRow kLogSoftmax = {"log_softmax.f32.simd", kContiguous, match_softmax,
                                   plan_softmax<true>,     nullptr,     run_softmax};

}  // namespace

WICK_CPU_ROWS(BatchNorm, kBatchNorm);
WICK_CPU_ROWS(Softmax, kSoftmax);
WICK_CPU_ROWS(LogSoftmax, kLogSoftmax);
WICK_HALF_ROWS(BatchNorm, WICK_VIA_F32("batch_norm.16.simd", kBatchNorm));
WICK_HALF_ROWS(Softmax, WICK_VIA_F32("softmax.16.simd", kSoftmax));
WICK_HALF_ROWS(LogSoftmax, WICK_VIA_F32("log_softmax.16.simd", kLogSoftmax));

}  // namespace wick
#endif
