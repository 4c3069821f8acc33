// Elementwise arithmetic, comparison, logic and selection. Shapes broadcast as in numpy; dtypes
// promote as in PyTorch: bool < integer < float, where a 0-dim tensor does not widen one with
// dimensions of its own category, and a C++ number widens none.
#pragma once

#include "trainer/tensor/ops/common.h"

namespace wick {

#define WICK_DECLARE_BINARY(f)          \
  Tensor f(const Arg& a, const Arg& b); \
  Tensor f(const Arg& a, Scalar b);     \
  Tensor f(Scalar a, const Arg& b);

// -- arithmetic
// Returns a + alpha b; of two bools, whether one of them is true.
Tensor add(const Arg& a, const Arg& b, Scalar alpha = 1);
Tensor add(const Arg& a, Scalar b, Scalar alpha = 1);
// Returns a - alpha b; a bool tensor on either side is an Error.
Tensor sub(const Arg& a, const Arg& b, Scalar alpha = 1);
Tensor sub(const Arg& a, Scalar b, Scalar alpha = 1);
Tensor rsub(const Arg& a, const Arg& b, Scalar alpha = 1);  // b - alpha a
Tensor rsub(const Arg& a, Scalar b, Scalar alpha = 1);      // b - alpha a
// rounding_mode "trunc" or "floor" keeps integers and refuses an integer 0; without one the result
// is a float.
Tensor div(const Arg& a, const Arg& b, const char* rounding_mode);
Tensor div(const Arg& a, Scalar b, const char* rounding_mode);
// a to the power of b; the dtypes promote.
Tensor pow(const Arg& a, const Arg& b);
Tensor pow(const Arg& a, Scalar b);  // integers refuse a negative one
Tensor pow(Scalar a, const Arg& b);
#define WICK_BINARY_OPS(X)                                                      \
  X(mul)          /* a b; of two bools, whether both are true */                \
  X(div)          /* integers become float32 */                                 \
  X(floor_divide) /* towards -inf; integers stay integers, and 0 is refused */  \
  X(remainder)    /* the divisor's sign: Python's % */                          \
  X(fmod)         /* the dividend's sign: C's */                                \
  X(float_power)  /* in float64 */                                              \
  X(maximum)      /* NaN wins, +0 > -0 */                                       \
  X(minimum)      /* NaN wins, -0 < +0 */                                       \
  X(fmax)         /* a number wins over NaN */                                  \
  X(fmin)         /* a number wins over NaN */                                  \
  X(atan2)        /* the angle of the point (x = b, y = a), in (-pi, pi] */     \
  X(hypot)        /* sqrt(a^2 + b^2) */                                         \
  X(logaddexp)    /* log(e^a + e^b) */                                          \
  X(logaddexp2)   /* log2(2^a + 2^b) */                                         \
  X(xlogy)        /* a log b, 0 where a is 0 */                                 \
  X(copysign)     /* the magnitude of a, the sign of b */                       \
  X(heaviside)    /* b where a is 0 */                                          \
  X(ldexp)        /* a 2^b */                                                   \
  /* comparison: bools. == is spelled eq(): a Tensor is a handle and a value */ \
  X(eq) /* a == b */                                                            \
  X(ne) /* a != b */                                                            \
  X(lt) /* a < b */                                                             \
  X(le) /* a <= b */                                                            \
  X(gt) /* a > b */                                                             \
  X(ge) /* a >= b */                                                            \
  /* logic: anything but 0 is true */                                           \
  X(logical_and) /* both */                                                     \
  X(logical_or)  /* one of them or both */                                      \
  X(logical_xor) /* one of them, not both */                                    \
  /* bits of integers; of bools, logic */                                       \
  X(bitwise_and)         /* 1 where both are */                                 \
  X(bitwise_or)          /* 1 where one is */                                   \
  X(bitwise_xor)         /* 1 where they differ */                              \
  X(bitwise_left_shift)  /* a 2^b */                                            \
  X(bitwise_right_shift) /* a / 2^b, rounded down */                            \
  /* of integers */                                                             \
  X(gcd) /* the greatest common divisor */                                      \
  X(lcm) /* the least common multiple */                                        \
  /* PyTorch's other names */                                                   \
  X(multiply)      /* mul */                                                    \
  X(divide)        /* div */                                                    \
  X(true_divide)   /* div */                                                    \
  X(arctan2)       /* atan2 */                                                  \
  X(not_equal)     /* ne */                                                     \
  X(less)          /* lt */                                                     \
  X(less_equal)    /* le */                                                     \
  X(greater)       /* gt */                                                     \
  X(greater_equal) /* ge */
// The functions of this list take a tensor or a number on either side. Throw Error for shapes that
// do not broadcast.
WICK_BINARY_OPS(WICK_DECLARE_BINARY)
#undef WICK_DECLARE_BINARY
// The other name of sub().
Tensor subtract(const Arg& a, const Arg& b, Scalar alpha = 1);
// True where a is 0 or false.
Tensor logical_not(const Arg& a);
Tensor bitwise_not(const Arg& a);  // integers; bools: not

#define WICK_OPERATORS(X)    \
  X(+, add)                  \
  X(-, sub)                  \
  X(*, mul)                  \
  X(/, div)                  \
  X(%, remainder)            \
  X(&, bitwise_and)          \
  X(|, bitwise_or)           \
  X(^, bitwise_xor)          \
  X(<<, bitwise_left_shift)  \
  X(>>, bitwise_right_shift) \
  X(<, lt)                   \
  X(<=, le)                  \
  X(>, gt)                   \
  X(>=, ge)
#define X(op, f)                                  \
  Tensor operator op(const Arg& a, const Arg& b); \
  Tensor operator op(const Arg& a, Scalar b);     \
  Tensor operator op(Scalar a, const Arg& b);
// The functions as operators. % is Python's, comparisons give bools.
WICK_OPERATORS(X)
#undef X
// For operands that are temporaries of the expression: if nothing is recorded, a temporary's bytes
// are reused for the result, so that g * (1 - y * y) needs one buffer instead of three.
#define WICK_REUSING_OPERATORS(X) \
  X(+, add, kAdd)                 \
  X(-, sub, kSub)                 \
  X(*, mul, kMul)                 \
  X(/, div, kDiv)
#define X(op, f, id)                     \
  Tensor operator op(Arg&& a, Arg&& b);  \
  Tensor operator op(Arg&& a, Scalar b); \
  Tensor operator op(Scalar a, Arg&& b);
// The same for operands that are temporaries.
WICK_REUSING_OPERATORS(X)
#undef X
// neg() and bitwise_not().
Tensor operator-(const Arg& a);
Tensor operator~(const Arg& a);

// -- selection
// The elements of a where the bool condition is true, else those of b. All three broadcast; the
// dtypes of a and b promote. Throws Error for a condition of another dtype.
Tensor where(const Arg& condition, const Arg& a, const Arg& b);
Tensor where(const Arg& condition, const Arg& a, Scalar b);
Tensor where(const Arg& condition, Scalar a, const Arg& b);
Tensor where(const Arg& condition, Scalar a, Scalar b);  // float32, int64 or bools
// One of the bounds may be absent. Integers with a float bound become floats; NaN is kept.
Tensor clamp(const Arg& x, OptScalar min, OptScalar max = {});
Tensor clamp(const Arg& x, const Tensor& min, const Tensor& max = Tensor());
Tensor clip(const Arg& x, OptScalar min, OptScalar max = {});
Tensor clamp_min(const Arg& x, Scalar min);
Tensor clamp_max(const Arg& x, Scalar max);

// -- combinations
// a + weight (b - a), with one weight or one for each element, which broadcasts.
Tensor lerp(const Arg& a, const Arg& b, Scalar weight);
Tensor lerp(const Arg& a, const Arg& b, const Arg& weight);

Tensor addcmul(const Arg& x, const Arg& a, const Arg& b, Scalar value = 1);  // x + value a b
Tensor addcdiv(const Arg& x, const Arg& a, const Arg& b, Scalar value = 1);  // x + value a / b

// -- closeness: |a - b| <= atol + rtol |b|
// Return whether each element (isclose), or every one (allclose), is that close. Equal infinities
// are; NaNs are with equal_nan.
Tensor isclose(const Arg& a, const Arg& b, double rtol = 1e-5, double atol = 1e-8,
               bool equal_nan = false);
bool allclose(const Arg& a, const Arg& b, double rtol = 1e-5, double atol = 1e-8,
              bool equal_nan = false);
bool equal(const Arg& a, const Arg& b);  // compares shapes and values; the dtypes must be the same

}  // namespace wick

#include "trainer/tensor/ops/activation.h"
#include "trainer/tensor/ops/unary.h"
