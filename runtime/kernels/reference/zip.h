// The loop of an elementwise op on two tensors, with broadcasting.
#pragma once

#include "runtime/kernels/elementwise/elementwise.h"
#include "runtime/kernels/reference/exact.h"
#include "runtime/kernels/reference/rows.h"

namespace wick::reference {

// Calls f(z, x, y) for each element; steps of 0 and 1 have their own loops.
template <class X, class Y, class Z, class Fn>
Status zip(const KernelCtx& ctx, Span<const TensorView> in, Span<TensorView> out, Fn f) {
  const X* x = in[0].as<X>();
  const Y* y = in[1].as<Y>();
  Z* z = out[0].as<Z>();
  ElementLoop<2> loop(out[0], in.data());
  const int64_t sx = loop.stride[0][loop.rank - 1], sy = loop.stride[1][loop.rank - 1];
  loop.parallel_rows(ctx.pool, [&](int64_t at, int64_t n, const int64_t* offset) {
    const int64_t dx = sx, dy = sy;
    const X* px = x + offset[0];
    const Y* py = y + offset[1];
    Z* pz = z + at;
    if (dx == 1 && dy == 1) {
      for (int64_t i = 0; i < n; ++i) pz[i] = f(read(px + i), read(py + i));
    } else if (dx == 1 && dy == 0) {
      const Y v = read(py);
      for (int64_t i = 0; i < n; ++i) pz[i] = f(read(px + i), v);
    } else {
      for (int64_t i = 0; i < n; ++i) pz[i] = f(read(px + i * dx), read(py + i * dy));
    }
  });
  return {};
}

template <class Op, class T>
Status run(const KernelCtx& ctx, Span<const TensorView> in, Span<TensorView> out, const void*) {
  return zip<T, T, T>(ctx, in, out, [](T x, T y) {
    return static_cast<T>(Op::f(static_cast<Compute<T>>(x), static_cast<Compute<T>>(y)));
  });
}
template <class Op, class T>
Status run_compare(const KernelCtx& ctx, Span<const TensorView> in, Span<TensorView> out,
                   const void*) {
  return zip<T, T, bool>(ctx, in, out, [](T x, T y) {
    return Op::f(static_cast<Compute<T>>(x), static_cast<Compute<T>>(y));
  });
}

// Integers wrap: the arithmetic is unsigned, at least 32 bits wide.
template <class T>
using Wide = std::make_unsigned_t<std::conditional_t<(sizeof(T) < 4), int32_t, T>>;

}  // namespace wick::reference
