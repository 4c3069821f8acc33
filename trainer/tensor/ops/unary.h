// Elementwise functions of one tensor; the result has x's shape. Integers and bools become float32
// where the mathematics needs a float.
#pragma once

#include "trainer/tensor/ops/common.h"

namespace wick {

#define WICK_UNARY_OPS(X)                                                  \
  /* one op of the list; integers and bools become float32 */              \
  X(sigmoid, Sigmoid)       /* 1 / (1 + e^-x) */                           \
  X(tanh, Tanh)             /* hyperbolic tangent */                       \
  X(silu, Silu)             /* x sigmoid(x) */                             \
  X(hardswish, HardSwish)   /* x relu6(x + 3) / 6 */                       \
  X(softplus, Softplus)     /* log(1 + e^x) */                             \
  X(exp, Exp)               /* e^x */                                      \
  X(expm1, Expm1)           /* e^x - 1, also for small x */                \
  X(log, Log)               /* natural logarithm; NaN for x < 0 */         \
  X(log1p, Log1p)           /* log(1 + x), also for small x */             \
  X(log2, Log2)             /* logarithm of base 2 */                      \
  X(log10, Log10)           /* logarithm of base 10 */                     \
  X(sqrt, Sqrt)             /* NaN for x < 0 */                            \
  X(reciprocal, Reciprocal) /* 1 / x */                                    \
  X(erf, Erf)               /* error function */                           \
  X(erfc, Erfc)             /* 1 - erf(x), also for large x */             \
  X(sin, Sin)               /* of radians */                               \
  X(cos, Cos)               /* of radians */                               \
  X(tan, Tan)               /* of radians */                               \
  X(asin, Asin)             /* in [-pi/2, pi/2]; NaN outside of [-1, 1] */ \
  X(acos, Acos)             /* in [0, pi]; NaN outside of [-1, 1] */       \
  X(atan, Atan)             /* in (-pi/2, pi/2) */                         \
  X(sinh, Sinh)             /* hyperbolic sine */                          \
  X(cosh, Cosh)             /* hyperbolic cosine */                        \
  X(asinh, Asinh)           /* inverse of sinh */                          \
  X(acosh, Acosh)           /* inverse of cosh; NaN for x < 1 */           \
  X(atanh, Atanh)           /* inverse of tanh; NaN outside of [-1, 1] */
// PyTorch's other names of these.
#define WICK_UNARY_ALIASES(X)   \
  X(arcsin, asin)   /* asin */  \
  X(arccos, acos)   /* acos */  \
  X(arctan, atan)   /* atan */  \
  X(arcsinh, asinh) /* asinh */ \
  X(arccosh, acosh) /* acosh */ \
  X(arctanh, atanh) /* atanh */ \
  X(absolute, abs)  /* abs */   \
  X(negative, neg)  /* neg */   \
  X(fix, trunc)     /* trunc */ \
  X(sgn, sign)      /* sign */
// The result has x's dtype.
#define WICK_UNARY_SAME(X)                    \
  X(relu)     /* max(x, 0) */                 \
  X(neg)      /* -x; bool is refused */       \
  X(positive) /* x itself; bool is refused */ \
  X(abs)      /* |x| */                       \
  X(sign)     /* -1, 0 or 1 */                \
  X(square)   /* x^2 */                       \
  X(floor)    /* the integer below */         \
  X(ceil)     /* the integer above */         \
  X(trunc)    /* the integer towards 0 */
// Composed of several ops; the result is a float.
#define WICK_UNARY_COMPOSED(X)                               \
  X(rsqrt)       /* 1 / sqrt(x) */                           \
  X(exp2)        /* 2^x */                                   \
  X(sinc)        /* sin(pi x) / (pi x) */                    \
  X(deg2rad)     /* x pi / 180 */                            \
  X(rad2deg)     /* x 180 / pi */                            \
  X(frac)        /* x - trunc(x) */                          \
  X(logsigmoid)  /* log(sigmoid(x)) */                       \
  X(softsign)    /* x / (1 + |x|) */                         \
  X(tanhshrink)  /* x - tanh(x) */                           \
  X(mish)        /* x tanh(softplus(x)) */                   \
  X(selu)        /* a scaled ELU (Klambauer et al., 2017) */ \
  X(hardsigmoid) /* relu6(x + 3) / 6 */
// The result is bool.
#define WICK_UNARY_TESTS(X)                     \
  X(isnan)    /* true of NaN */                 \
  X(isinf)    /* true of both infinities */     \
  X(isfinite) /* false of NaN and infinities */ \
  X(isposinf) /* true of +inf */                \
  X(isneginf) /* true of -inf */                \
  X(signbit)  /* true of -0 */

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
