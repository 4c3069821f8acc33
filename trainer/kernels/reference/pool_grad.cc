#include <algorithm>
#include <type_traits>

#include "runtime/kernels/elementwise/elementwise.h"
#include "runtime/kernels/reference/rows.h"
#include "runtime/kernels/window/pool.h"
#include "trainer/kernels/kernel_set.h"

namespace wick {
namespace {

using namespace reference;  // NOLINT: what the references share

template <class T>
void add_to(T& slot, Compute<T> v) {
  slot = static_cast<T>(static_cast<Compute<T>>(slot) + v);
}

// Calls f(shape, ranges, o, plane, gradient, gradient of x's plane) per window, in output order.
template <class T, class F>
Status for_planes(const KernelCtx& ctx, Span<const TensorView> in, Span<TensorView> out,
                  const void* attrs, F f) {
  const PoolShape s = pool_shape(in[1], in[0], *static_cast<const PoolAttrs*>(attrs));
  parallel_items(ctx.pool, s.planes, s.cost(), [&](int64_t begin, int64_t end) {
    for (int64_t p = begin; p < end; ++p) {
      const T* grad = in[0].as<T>() + p * s.out_size();
      T* result = out[0].as<T>() + p * s.in_size();
      std::fill(result, result + s.in_size(), T());
      for_each_window(s, [&](int64_t at, const PoolShape::Range* ranges, const int64_t* o) {
        f(s, ranges, o, p, static_cast<Compute<T>>(grad[at]), result);
      });
    }
  });
  return {};
}

// A window's gradient goes to its first largest element; a NaN counts as the largest, and -0 equals
// +0.
template <class T>
Status max_pool_grad(const KernelCtx& ctx, Span<const TensorView> in, Span<TensorView> out,
                     const void* attrs) {
  using C = Compute<T>;
  return for_planes<T>(ctx, in, out, attrs,
                       [&](const PoolShape& s, const PoolShape::Range* ranges, const int64_t* o,
                           int64_t plane, C grad, T* result) {
                         const T* x = in[1].as<T>() + plane * s.in_size();
                         int64_t best_at = -1;
                         C best = 0;
                         for_each_position(s, ranges, o, [&](int64_t i) {
                           C v = static_cast<C>(x[i]);
                           if (best_at < 0 || v > best || (v != v && best == best)) {
                             best = v;
                             best_at = i;
                           }
                         });
                         if (best_at >= 0) add_to(result[best_at], grad);
                       });
}

template <class T>
Status average_pool_grad(const KernelCtx& ctx, Span<const TensorView> in, Span<TensorView> out,
                         const void* attrs) {
  using C = Compute<T>;
  return for_planes<T>(ctx, in, out, attrs,
                       [&](const PoolShape& s, const PoolShape::Range* ranges, const int64_t* o,
                           int64_t, C grad, T* result) {
                         const C share = grad / static_cast<C>(s.divisor(ranges, o));
                         for_each_position(s, ranges, o,
                                           [&](int64_t i) { add_to(result[i], share); });
                       });
}

}  // namespace

WICK_REF_ROWS(MaxPoolGrad,
              WICK_FLOAT_ROWS("max_pool_grad", kContiguous, match<T>, max_pool_grad<T>));
WICK_REF_ROWS(AveragePoolGrad,
              WICK_FLOAT_ROWS("average_pool_grad", kContiguous, match<T>, average_pool_grad<T>));
WICK_NO_CPU_ROWS(AveragePoolGrad);

}  // namespace wick
