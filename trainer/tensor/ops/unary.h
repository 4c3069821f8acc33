// Elementwise functions of one tensor; the result has x's shape. Integers and bools become float32
// where the mathematics needs a float.
#pragma once

#include "trainer/tensor/ops/common.h"

namespace wick {

#define WICK_UNARY_OPS(X)                          \
  /* function, op: one op of the list on floats */ \
  X(sigmoid, Sigmoid)                              \
  X(tanh, Tanh)                                    \
  X(silu, Silu)                                    \
  X(hardswish, HardSwish)                          \
  X(softplus, Softplus)                            \
  X(exp, Exp)                                      \
  X(expm1, Expm1)                                  \
  X(log, Log)                                      \
  X(log1p, Log1p)                                  \
  X(log2, Log2)                                    \
  X(log10, Log10)                                  \
  X(sqrt, Sqrt)                                    \
  X(reciprocal, Reciprocal)                        \
  X(erf, Erf)                                      \
  X(erfc, Erfc)                                    \
  X(sin, Sin)                                      \
  X(cos, Cos)                                      \
  X(tan, Tan)                                      \
  X(asin, Asin)                                    \
  X(acos, Acos)                                    \
  X(atan, Atan)                                    \
  X(sinh, Sinh)                                    \
  X(cosh, Cosh)                                    \
  X(asinh, Asinh)                                  \
  X(acosh, Acosh)                                  \
  X(atanh, Atanh)
// PyTorch's other names of these.
#define WICK_UNARY_ALIASES(X) \
  X(arcsin, asin)             \
  X(arccos, acos)             \
  X(arctan, atan)             \
  X(arcsinh, asinh)           \
  X(arccosh, acosh)           \
  X(arctanh, atanh)           \
  X(absolute, abs)            \
  X(negative, neg)            \
  X(fix, trunc)               \
  X(sgn, sign)
// The result has x's dtype.
#define WICK_UNARY_SAME(X)                    \
  X(relu)                                     \
  X(neg)      /* bool is refused */           \
  X(positive) /* x itself; bool is refused */ \
  X(abs)                                      \
  X(sign)                                     \
  X(square)                                   \
  X(floor)                                    \
  X(ceil)                                     \
  X(trunc)
// Composed of several ops; the result is a float.
#define WICK_UNARY_COMPOSED(X)     \
  X(rsqrt)                         \
  X(exp2)                          \
  X(sinc) /* sin(pi x) / (pi x) */ \
  X(deg2rad)                       \
  X(rad2deg)                       \
  X(frac) /* x - trunc(x) */       \
  X(logsigmoid)                    \
  X(softsign)                      \
  X(tanhshrink)                    \
  X(mish)                          \
  X(selu)                          \
  X(hardsigmoid)
// The result is bool.
#define WICK_UNARY_TESTS(X) \
  X(isnan)                  \
  X(isinf)                  \
  X(isfinite)               \
  X(isposinf)               \
  X(isneginf)               \
  X(signbit) /* true of -0 */

#define X(function, Name) Tensor function(const Arg& x);
WICK_UNARY_OPS(X)
WICK_UNARY_ALIASES(X)
#undef X
#define X(function) Tensor function(const Arg& x);
WICK_UNARY_SAME(X)
WICK_UNARY_COMPOSED(X)
WICK_UNARY_TESTS(X)
#undef X
// Rounds to `decimals` digits after the point (before it if negative); ties go to the even digit.
Tensor round(const Arg& x, int64_t decimals = 0);
// Returns NaN for x outside of (0, 1); eps clamps x to [eps, 1 - eps] first.
Tensor logit(const Arg& x, std::optional<double> eps = {});
// Replaces NaN, +inf and -inf; by default with 0 and the dtype's largest and lowest number.
Tensor nan_to_num(const Arg& x, double nan = 0, std::optional<double> posinf = {},
                  std::optional<double> neginf = {});

}  // namespace wick
