// 16-bit rows that use the f32 bodies of elementwise ops: a block at a time is widened on the
// stack, computed and rounded once. They are bit-identical to the reference loops, which do this
// element by element.
#pragma once

#include <algorithm>

#include "runtime/kernels/elementwise/elementwise.h"
#include "runtime/kernels/elementwise/half_loops.h"
#include "runtime/kernels/elementwise/via_f32.h"

namespace wick {

constexpr int64_t kHalfBlock = 512;  // elements; three blocks stay in the L1 cache

// Calls f(BFloat16()) or f(Half()), according to the dtype.
template <class F>
auto by_half(DType t, F&& f) {
  if (t == DType::kF16) return f(Half());
  return f(BFloat16());
}

// Converts n elements of x with stride `step` to f32.
template <class T>
void widen_steps(const T* x, int64_t step, int64_t n, float* to) {
  if (step == 1) return widen(x, to, n);
  for (int64_t i = 0; i < n; ++i) to[i] = static_cast<float>(x[i * step]);
}

// Calls body(block, n) on n elements in place, for each block of an op with one input.
template <class F>
void unary_in_blocks(ThreadPool* pool, const TensorView& in, const TensorView& out, F&& body) {
  by_half(in.dtype, [&](auto kind) {
    using T = decltype(kind);
    const T* x = in.as<T>();
    T* y = out.as<T>();
    ElementLoop<1> loop(out, &in);
    const int64_t step = loop.stride[0][loop.rank - 1];
    loop.parallel_rows(pool, [&](int64_t at, int64_t n, const int64_t* offset) {
      float block[kHalfBlock];
      for (int64_t i = 0; i < n; i += kHalfBlock) {
        const int64_t len = std::min(kHalfBlock, n - i);
        widen_steps(x + offset[0] + i * step, step, len, block);
        body(block, static_cast<size_t>(len));
        narrow(block, y + at + i, len);
      }
    });
  });
}

}  // namespace wick
