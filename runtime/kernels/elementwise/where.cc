#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "runtime/kernels/elementwise/where.cc"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "runtime/kernels/elementwise/elementwise.h"
#include "runtime/kernels/elementwise/half_kernels.h"
#include "runtime/kernels/elementwise/half_loops.h"
#include "runtime/kernels/kernel_set.h"

#ifndef WICK_KERNELS_WHERE_BODY_
#define WICK_KERNELS_WHERE_BODY_
namespace wick {
using ChooseBody = void (*)(const uint8_t* c, const void* x, bool repeat_x, const void* y,
                            bool repeat_y, void* z, size_t n);
}  // namespace wick
#endif

#include "runtime/kernels/elementwise/where-inl.h"

#if HWY_ONCE
namespace wick {
namespace {

HWY_EXPORT(find_choose32);
HWY_EXPORT(find_choose16);

bool match_32(const KernelQuery& q) {
  const DType t = q.in[1].dtype;
  return t == DType::kF32 || t == DType::kI32 || t == DType::kU32;
}
bool match_16(const KernelQuery& q) { return is_16_bit_float(q.in[1].dtype); }

Status plan_32(const KernelQuery&, KernelPlan* p) {
  p->keep(HWY_DYNAMIC_DISPATCH(find_choose32)());
  return {};
}
Status plan_16(const KernelQuery&, KernelPlan* p) {
  p->keep(HWY_DYNAMIC_DISPATCH(find_choose16)());
  return {};
}

template <class U>
Status run(const KernelCtx& ctx, Span<const TensorView> in, Span<TensorView> out, const void*) {
  auto body = ctx.plan->kept<ChooseBody>();
  ElementLoop<3> loop(out[0], in.data());
  const int last = loop.rank - 1;
  const int64_t sc = loop.stride[0][last], sx = loop.stride[1][last], sy = loop.stride[2][last];
  const bool direct = sc == 1 && (sx == 0 || sx == 1) && (sy == 0 || sy == 1);
  loop.parallel_rows(ctx.pool, [&](int64_t at, int64_t n, const int64_t* offset) {
    const uint8_t* c = in[0].as<uint8_t>() + offset[0];
    const U *x = in[1].as<U>() + offset[1], *y = in[2].as<U>() + offset[2];
    U* z = out[0].as<U>() + at;
    if (direct) return body(c, x, sx == 0, y, sy == 0, z, static_cast<size_t>(n));
    for (int64_t i = 0; i < n; ++i) z[i] = c[i * sc] != 0 ? x[i * sx] : y[i * sy];
  });
  return {};
}

}  // namespace

WICK_CPU_ROWS(Where, {"where.32.simd", kStridedInputs, match_32, plan_32, nullptr, run<uint32_t>});
WICK_HALF_ROWS(Where, {"where.16.simd", kStridedInputs, match_16, plan_16, nullptr, run<uint16_t>});

}  // namespace wick
#endif
