#include "runtime/kernels/window/pool.h"
#include "runtime/kernels/reference/rows.h"

#include <cmath>
#include <limits>
#include <type_traits>

#include "runtime/kernels/elementwise/elementwise.h"

namespace wick {
namespace {

using namespace reference;  // NOLINT: shared by this folder

// NaN takes precedence, +0 > -0.
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

// Sums the window from +0 in row-major order, then divides by the count.
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

WICK_REF_ROWS(MaxPool, WICK_FLOAT_ROWS("max_pool", kContiguous, match<T>, max_pool<T>),
              WICK_REF_ROW(int8_t, "i8", "max_pool", kContiguous, match<T>, max_pool<T>),
              WICK_REF_ROW(uint8_t, "u8", "max_pool", kContiguous, match<T>, max_pool<T>),
              WICK_REF_ROW(int16_t, "i16", "max_pool", kContiguous, match<T>, max_pool<T>),
              WICK_REF_ROW(int32_t, "i32", "max_pool", kContiguous, match<T>, max_pool<T>),
              WICK_REF_ROW(int64_t, "i64", "max_pool", kContiguous, match<T>, max_pool<T>));
WICK_REF_ROWS(AveragePool, WICK_FLOAT_ROWS("average_pool", kContiguous, match<T>, average_pool<T>));

}  // namespace wick
