// The backward of the 2x2, stride 2 max pool with SIMD; other windows use the reference loops.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "trainer/kernels/pool_grad.cc"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "runtime/kernels/elementwise/elementwise.h"
#include "runtime/kernels/elementwise/via_f32.h"
#include "runtime/kernels/window/pool.h"
#include "trainer/kernels/kernel_set.h"

#ifndef WICK_TRAINER_POOL_GRAD_BODY_
#define WICK_TRAINER_POOL_GRAD_BODY_
namespace wick {
using PoolGradBody = void (*)(const float* grad, const float* x, const PoolShape& s, int64_t begin,
                              int64_t end, float* result);
}  // namespace wick
#endif

HWY_BEFORE_NAMESPACE();
namespace wick {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;
namespace pool_grad {

inline bool takes_over(float v, float best) { return v > best || (v != v && best == best); }

#if HWY_TARGET != HWY_SCALAR
template <size_t width>
HWY_INLINE int64_t vector_windows(const float* grad, const float* top, const float* bottom,
                                  int64_t o, int64_t n, float* result_top, float* result_bottom) {
  const hn::CappedTag<float, width> d;
  using V = hn::Vec<decltype(d)>;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  const V zero = hn::Zero(d);
  if (n - o < lanes) return o;
  // The last vector may overlap the one before: the result for a window does not depend on the
  // lane.
  for (; o < n; o += lanes) {
    if (o + lanes > n) o = n - lanes;
    V x[4];
    hn::LoadInterleaved2(d, top + 2 * o, x[0], x[1]);
    hn::LoadInterleaved2(d, bottom + 2 * o, x[2], x[3]);
    const V g = hn::LoadU(d, grad + o);
    V share[4] = {g, zero, zero, zero};
    V best = x[0];
    for (int k = 1; k < 4; ++k) {
      auto wins = hn::Or(hn::Gt(x[k], best), hn::And(hn::IsNaN(x[k]), hn::Eq(best, best)));
      best = hn::IfThenElse(wins, x[k], best);
      for (int j = 0; j < k; ++j) share[j] = hn::IfThenElse(wins, zero, share[j]);
      share[k] = hn::IfThenElse(wins, g, zero);
    }
    // The reference adds to a zero, which turns a -0 gradient into +0.
    for (V& v : share) v = hn::Add(zero, v);
    hn::StoreInterleaved2(share[0], share[1], d, result_top + 2 * o);
    hn::StoreInterleaved2(share[2], share[3], d, result_bottom + 2 * o);
  }
  return n;
}
#endif

static void max_2x2(const float* grad, const float* x, const PoolShape& s, int64_t begin,
                    int64_t end, float* result) {
  const int64_t width = s.in[2], n = s.out[2];
  for (int64_t p = begin; p < end; ++p) {
    const float* plane = x + p * s.in_size();
    float* to = result + p * s.in_size();
    const float* g = grad + p * s.out_size();
    for (int64_t row = 0; row < s.out[1]; ++row, g += n) {
      const float* top = plane + 2 * row * width;
      const float* bottom = top + width;
      float* to_top = to + 2 * row * width;
      float* to_bottom = to_top + width;
      int64_t o = 0;
#if HWY_TARGET != HWY_SCALAR
      o = vector_windows<16>(g, top, bottom, o, n, to_top, to_bottom);
      if constexpr (hn::MaxLanes(hn::CappedTag<float, 16>()) > 8) {
        o = vector_windows<8>(g, top, bottom, o, n, to_top, to_bottom);
      }
      if constexpr (hn::MaxLanes(hn::CappedTag<float, 16>()) > 4) {
        o = vector_windows<4>(g, top, bottom, o, n, to_top, to_bottom);
      }
#endif
      for (; o < n; ++o) {
        const float v[4] = {top[2 * o], top[2 * o + 1], bottom[2 * o], bottom[2 * o + 1]};
        int at = 0;
        for (int k = 1; k < 4; ++k) {
          if (takes_over(v[k], v[at])) at = k;
        }
        to_top[2 * o] = to_top[2 * o + 1] = to_bottom[2 * o] = to_bottom[2 * o + 1] = 0.0f;
        // The pointer is needed: (c ? a : b)[i] += x is miscompiled by g++ 12 under UBSan.
        float* winner = at < 2 ? to_top : to_bottom;
        winner[2 * o + at % 2] += g[o];
      }
      for (int64_t i = 2 * n; i < width; ++i) to_top[i] = to_bottom[i] = 0.0f;
    }
    for (int64_t i = 2 * s.out[1] * width; i < s.in[1] * width; ++i) to[i] = 0.0f;
  }
}

}  // namespace pool_grad

static PoolGradBody find_max_2x2() { return pool_grad::max_2x2; }

}  // namespace HWY_NAMESPACE
}  // namespace wick
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace wick {
namespace {

HWY_EXPORT(find_max_2x2);

bool match(const KernelQuery& q) {
  if (q.in[0].dtype != DType::kF32 || q.in[1].rank() != 4) return false;
  const PoolShape s = pool_shape(q.in[1], q.in[0], q.as<PoolAttrs>());
  for (int d = 1; d < 3; ++d) {
    if (s.kernel[d] != 2 || s.stride[d] != 2 || s.dilation[d] != 1 || s.pad_begin[d] != 0)
      return false;
    if (s.out[d] * 2 > s.in[d]) return false;  // ceil_mode: a window reaches beyond the edge
  }
  return true;
}

Status plan(const KernelQuery&, KernelPlan* p) {
  p->keep(HWY_DYNAMIC_DISPATCH(find_max_2x2)());
  return {};
}

Status run(const KernelCtx& ctx, Span<const TensorView> in, Span<TensorView> out,
           const void* attrs) {
  auto body = ctx.plan->kept<PoolGradBody>();
  const PoolShape s = pool_shape(in[1], in[0], *static_cast<const PoolAttrs*>(attrs));
  parallel_items(ctx.pool, s.planes, s.in_size(), [&](int64_t begin, int64_t end) {
    body(in[0].as<float>(), in[1].as<float>(), s, begin, end, out[0].as<float>());
  });
  return {};
}

constexpr KernelRow kRow = {"max_pool_grad.2x2.f32.simd", kContiguous, match, plan, nullptr, run};

}  // namespace

WICK_CPU_ROWS(MaxPoolGrad, kRow, WICK_VIA_F32("max_pool_grad.2x2.16.simd", kRow));

}  // namespace wick
#endif
