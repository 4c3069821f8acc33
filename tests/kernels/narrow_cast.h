// The cast kernel over an array of float32, for the tests of the small types.
#pragma once

#include "runtime/core/narrow.h"
#include "runtime/kernels/prepared.h"
#include "tests/kernels/narrow_oracle.h"

namespace wick::test {

inline Status run_cast(const TensorView& in, TensorView out, const CastAttrs& attrs) {
  PreparedKernel kernel;
  WICK_TRY(kernel.prepare(default_kernels(), {OpId::kCast, &attrs, {&in, 1}, {&out, 1}, 1}));
  return kernel.run({}, OpId::kCast, {&in, 1}, {&out, 1}, &attrs);
}

// The first of n floats whose cast is not the oracle's, or -1. `room`: n bytes.
inline int64_t first_wrong(const NarrowCase& c, const NarrowOracle& oracle, float* x, int64_t n,
                           uint8_t* room, int* got) {
  const TensorView in(x, DType::kF32, Shape{n}), out(room, c.to, Shape{n});
  const CastAttrs attrs{static_cast<int64_t>(c.to), c.saturate ? 1 : 0, c.round_mode};
  if (!run_cast(in, out, attrs).ok()) return 0;
  const int bits = dtype_bits(c.to);
  for (int64_t i = 0; i < n; ++i) {
    *got = bits == 8 ? room[i] : get_packed(room, bits, i);
    if (!oracle.equal(*got, oracle(x[i]))) return i;
  }
  return -1;
}

}  // namespace wick::test
