// 16-bit rows around the f32 bodies of elementwise ops: a block at a time is widened on the stack,
// computed and rounded once. The bits of the reference loops, which do so element by element.
#pragma once

#include <algorithm>

#include "runtime/kernels/half_loops.h"
#include "runtime/kernels/via_f32.h"

namespace wick {

constexpr int64_t kHalfBlock = 512;  // elements: three blocks stay in the L1 cache

// f with BFloat16() or Half(), as in[0] has it.
template <class F>
Status by_half(DType t, F&& f) {
  if (t == DType::kF16) {
    f(Half());
  } else {
    f(BFloat16());
  }
  return {};
}

// n elements of x, `step` apart, in f32.
template <class T>
void widen_steps(const T* x, int64_t step, int64_t n, float* to) {
  if (step == 1) return widen(x, to, n);
  for (int64_t i = 0; i < n; ++i) to[i] = static_cast<float>(x[i * step]);
}

}  // namespace wick
