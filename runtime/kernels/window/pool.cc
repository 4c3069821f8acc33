#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "runtime/kernels/window/pool.cc"
#include "runtime/kernels/window/pool.h"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "runtime/kernels/blocked/blocked_rows.h"
#include "runtime/kernels/bytes/byte_pool.h"
#include "runtime/kernels/elementwise/elementwise.h"
#include "runtime/kernels/elementwise/half_kernels.h"
#include "runtime/kernels/elementwise/via_f32.h"
#include "runtime/kernels/kernel_set.h"

#ifndef WICK_KERNELS_POOL_BODY_
#define WICK_KERNELS_POOL_BODY_
namespace wick {
using PoolBody = void (*)(const float* x, const PoolShape& s, int64_t begin, int64_t end, float* y);
}  // namespace wick
#endif

#include "runtime/kernels/window/pool-inl.h"

#if HWY_ONCE
#include <algorithm>

namespace wick {
namespace {

HWY_EXPORT(find_max_pool);
HWY_EXPORT(find_average_pool);
HWY_EXPORT(find_blocked_max_pool);
HWY_EXPORT(find_blocked_average_pool);

bool match(const KernelQuery& q) { return q.in[0].dtype == DType::kF32; }

Status plan_max(const KernelQuery&, KernelPlan* p) {
  p->keep(HWY_DYNAMIC_DISPATCH(find_max_pool)());
  return {};
}
Status plan_average(const KernelQuery&, KernelPlan* p) {
  p->keep(HWY_DYNAMIC_DISPATCH(find_average_pool)());
  return {};
}

Status run(const KernelCtx& ctx, Span<const TensorView> in, Span<TensorView> out,
           const void* attrs) {
  auto body = ctx.plan->kept<PoolBody>();
  const PoolShape s = pool_shape(in[0], out[0], *static_cast<const PoolAttrs*>(attrs));
  parallel_items(ctx.pool, s.planes, s.cost(), [&](int64_t begin, int64_t end) {
    body(in[0].as<float>(), s, begin, end, out[0].as<float>());
  });
  return {};
}

// Values in blocked layout: the smallest task is a row of a block.
bool blocked_fits(const KernelQuery& q) {
  const BlockedKernels& t = blocked_kernels();
  return q.out.size() == 1 && is_blocked(t, q.in[0]) && is_blocked(t, q.out[0]);
}

Status plan_blocked_max(const KernelQuery&, KernelPlan* p) {
  p->keep(HWY_DYNAMIC_DISPATCH(find_blocked_max_pool)());
  return {};
}
Status plan_blocked_average(const KernelQuery&, KernelPlan* p) {
  p->keep(HWY_DYNAMIC_DISPATCH(find_blocked_average_pool)());
  return {};
}

Status run_blocked(const KernelCtx& ctx, Span<const TensorView> in, Span<TensorView> out,
                   const void* attrs) {
  auto body = ctx.plan->kept<PoolBody>();
  const PoolShape s = pool_shape(in[0], out[0], *static_cast<const PoolAttrs*>(attrs));
  const int64_t from = block_floats(in[0]), to = block_floats(out[0]), rows = s.out[1];
  const int64_t cost = rows == 0 ? 0 : s.cost() / rows * in[0].block;
  parallel_bands(ctx.pool, in[0].shape[0], blocks_of(in[0]), rows, cost,
                 [&](int64_t b, int64_t begin, int64_t end) {
                   body(in[0].as<float>() + b * from, s, begin, end, out[0].as<float>() + b * to);
                 });
  return {};
}

constexpr KernelRow kBlockedMax = {"max_pool.f32.blocked", kBlocked, blocked_fits,
                                   plan_blocked_max,       nullptr,  run_blocked};
constexpr KernelRow kBlockedAverage = {"average_pool.f32.blocked", kBlocked, blocked_fits,
                                       plan_blocked_average,       nullptr,  run_blocked};
constexpr KernelRow kMax = {"max_pool.f32.simd", kContiguous, match, plan_max, nullptr, run};
constexpr KernelRow kAverage = {
    "average_pool.f32.simd", kContiguous, match, plan_average, nullptr, run};

}  // namespace

WICK_CPU_ROWS(MaxPool, kMax);
WICK_BLOCKED_ROWS(MaxPool, kBlockedMax);
WICK_CPU_ROWS(AveragePool, kAverage);
WICK_BLOCKED_ROWS(AveragePool, kBlockedAverage);
WICK_HALF_ROWS(MaxPool, WICK_VIA_F32("max_pool.16.simd", kMax), kByteMaxPool);
WICK_HALF_ROWS(AveragePool, WICK_VIA_F32("average_pool.16.simd", kAverage));

}  // namespace wick
#endif
