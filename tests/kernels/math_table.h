// Every f32 elementary function: its double-precision oracle, scalar twin, SIMD body and promised
// bound.
#pragma once

#include <cstddef>

namespace wick::test {

// X(name, promised bound in ulp, bound where multiply-add is not fused). docs/numerics.md prints
// the measured worst cases. brief_*: the forms of edition 2.
#define WICK_MATH_UNARY(X)   \
  X(exp, 1.2, 4.0)           \
  X(exp2, 1.0, 4.0)          \
  X(expm1, 1.2, 4.0)         \
  X(log, 1.1, 4.0)           \
  X(log1p, 1.1, 4.0)         \
  X(log2, 1.0, 4.0)          \
  X(log10, 1.0, 4.0)         \
  X(tanh, 1.5, 4.0)          \
  X(sigmoid, 1.0, 4.0)       \
  X(erf, 1.5, 4.0)           \
  X(erfc, 3.5, 256.0)        \
  X(sin, 1.0, 4.0)           \
  X(cos, 1.0, 4.0)           \
  X(tan, 1.2, 4.0)           \
  X(asin, 1.0, 4.0)          \
  X(acos, 1.0, 4.0)          \
  X(atan, 1.3, 4.0)          \
  X(sinh, 1.0, 4.0)          \
  X(cosh, 1.0, 4.0)          \
  X(asinh, 1.0, 4.0)         \
  X(acosh, 1.1, 4.0)         \
  X(atanh, 1.1, 4.0)         \
  X(softplus, 1.3, 4.0)      \
  X(silu, 1.0, 4.0)          \
  X(gelu, 3.5, 256.0)        \
  X(gelu_tanh, 1.2, 256.0)   \
  X(mish, 3.5, 4.0)          \
  X(brief_exp, 1.1, 4.0)     \
  X(brief_sigmoid, 2.5, 4.0) \
  X(brief_tanh, 2.5, 4.0)    \
  X(brief_silu, 2.5, 4.0)    \
  X(brief_gelu_tanh, 2.5, 256.0)

enum class MathId {
#define X(name, bound, unfused) k_##name,
  WICK_MATH_UNARY(X)
#undef X
      kCount
};

using ArrayFn = void (*)(const float* x, float* y, size_t n);
using ArrayFn2 = void (*)(const float* x, const float* y, float* z, size_t n);

struct MathRow {
  const char* name;
  double bound, unfused_bound;
  double (*oracle)(double);
  ArrayFn scalar;
};
const MathRow& math_row(MathId id);
double pow_oracle(double x, double y);
void scalar_pow(const float* x, const float* y, float* z, size_t n);

// Returns the function for the SIMD target that is chosen at the moment of the call.
ArrayFn simd_math(MathId id);
ArrayFn2 simd_pow();

// |got - exact| in units of the last place of the f32 nearest to `exact`; 0 for equal infinities
// and NaN for NaN, infinite when only one is NaN or infinities disagree.
double ulp_error(float got, double exact);

}  // namespace wick::test
