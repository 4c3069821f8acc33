#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "runtime/kernels/elementwise/relu.cc"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "runtime/kernels/elementwise/half_kernels.h"
#include "runtime/kernels/elementwise/half_rows.h"
#include "runtime/kernels/kernel_set.h"

namespace wick {
using ReluBody = void (*)(const float* x, float* y, size_t n);
}

#include "runtime/kernels/elementwise/relu-inl.h"

#if HWY_ONCE
namespace wick {
namespace {

HWY_EXPORT(relu_body);

constexpr int64_t kGrain =
    1 << 15;  // elements per task: constant, so that slices do not depend on the thread count

bool match(const KernelQuery& q) { return q.in[0].dtype == DType::kF32; }

Status plan(const KernelQuery&, KernelPlan* p) {
  p->keep(HWY_DYNAMIC_DISPATCH(relu_body)());
  return {};
}

Status run(const KernelCtx& ctx, Span<const TensorView> in, Span<TensorView> out, const void*) {
  auto body = ctx.plan->kept<ReluBody>();
  const float* x = in[0].as<float>();
  float* y = out[0].as<float>();
  int64_t n = out[0].numel();
  parallel_for(ctx.pool, (n + kGrain - 1) / kGrain, [&](int64_t task, int) {
    int64_t at = task * kGrain;
    body(x + at, y + at, static_cast<size_t>(n - at < kGrain ? n - at : kGrain));
  });
  return {};
}

Status run_16(const KernelCtx& ctx, Span<const TensorView> in, Span<TensorView> out, const void*) {
  auto body = ctx.plan->kept<ReluBody>();
  unary_in_blocks(ctx.pool, in[0], out[0], [&](float* block, size_t n) { body(block, block, n); });
  return {};
}

}  // namespace

WICK_CPU_ROWS(Relu, {"relu.f32.simd", kInPlace, match, plan, nullptr, run});
WICK_HALF_ROWS(Relu, {"relu.16.simd", kInPlace, WidenedCall::fits, plan, nullptr, run_16});

}  // namespace wick
#endif
