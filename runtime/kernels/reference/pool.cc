#include "runtime/kernels/pool.h"

#include <cmath>
#include <limits>
#include <type_traits>

#include "runtime/core/half.h"
#include "runtime/kernels/elementwise.h"
#include "runtime/kernels/kernel_set.h"

namespace wick {
namespace {

template <class T>
using Compute =
    std::conditional_t<std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>, float, T>;

template <class T>
bool match(const KernelQuery& q) {
  return q.in[0].dtype == dtype_of<T>;
}

// NaN wins, +0 > -0.
template <class C>
C larger(C a, C b) {
  if constexpr (std::is_floating_point_v<C>) {
    if (a == b) return std::signbit(a) ? b : a;
    return a > b || a != a ? a : b;
  } else {
    return a > b ? a : b;
  }
}

template <class T>
Status max_pool(const KernelCtx& ctx, Span<const TensorView> in, Span<TensorView> out,
                const void* attrs) {
  using C = Compute<T>;
  using Limits = std::numeric_limits<C>;
  const PoolShape s = pool_shape(in[0], out[0], *static_cast<const PoolAttrs*>(attrs));
  parallel_items(ctx.pool, s.planes, s.cost(), [&](int64_t begin, int64_t end) {
    for (int64_t p = begin; p < end; ++p) {
      const T* x = in[0].as<T>() + p * s.in_size();
      T* y = out[0].as<T>() + p * s.out_size();
      for_each_window(s, [&](int64_t at, const PoolShape::Range* ranges, const int64_t* o) {
        C best = Limits::has_infinity ? -Limits::infinity() : Limits::lowest();
        for_each_position(s, ranges, o,
                          [&](int64_t i) { best = larger(best, static_cast<C>(x[i])); });
        y[at] = static_cast<T>(best);
      });
    }
  });
  return {};
}

// The window's sum from +0 in row-major order, then divided by the count.
template <class T>
Status average_pool(const KernelCtx& ctx, Span<const TensorView> in, Span<TensorView> out,
                    const void* attrs) {
  using C = Compute<T>;
  const PoolShape s = pool_shape(in[0], out[0], *static_cast<const PoolAttrs*>(attrs));
  parallel_items(ctx.pool, s.planes, s.cost(), [&](int64_t begin, int64_t end) {
    for (int64_t p = begin; p < end; ++p) {
      const T* x = in[0].as<T>() + p * s.in_size();
      T* y = out[0].as<T>() + p * s.out_size();
      for_each_window(s, [&](int64_t at, const PoolShape::Range* ranges, const int64_t* o) {
        C sum = 0;
        for_each_position(s, ranges, o, [&](int64_t i) { sum += static_cast<C>(x[i]); });
        y[at] = static_cast<T>(sum / static_cast<C>(s.divisor(ranges, o)));
      });
    }
  });
  return {};
}

}  // namespace

#define WICK_ROW(text, T, function) \
  { text, kContiguous, match<T>, nullptr, nullptr, function<T> }
#define WICK_FLOAT_ROWS(text, function)                                                    \
  WICK_ROW(text ".f32.ref", float, function), WICK_ROW(text ".f64.ref", double, function), \
      WICK_ROW(text ".f16.ref", Half, function), WICK_ROW(text ".bf16.ref", BFloat16, function)

WICK_REF_ROWS(MaxPool, WICK_FLOAT_ROWS("max_pool", max_pool),
              WICK_ROW("max_pool.i8.ref", int8_t, max_pool),
              WICK_ROW("max_pool.u8.ref", uint8_t, max_pool),
              WICK_ROW("max_pool.i16.ref", int16_t, max_pool),
              WICK_ROW("max_pool.i32.ref", int32_t, max_pool),
              WICK_ROW("max_pool.i64.ref", int64_t, max_pool));
WICK_REF_ROWS(AveragePool, WICK_FLOAT_ROWS("average_pool", average_pool));

}  // namespace wick
