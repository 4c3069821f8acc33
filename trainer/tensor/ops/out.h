// name_out(out, ...): writes the result directly into out's bytes; for floats without an allocation
// if out has the result's dtype and is contiguous. out must have the result's shape (PyTorch would
// resize it); its dtype may be one that the result can be cast to. Nothing is recorded: a tensor
// that requires grad is refused in gradient mode, a dual tensor always. Returns out.
#pragma once

#include "trainer/tensor/ops/common.h"

namespace wick {

#define WICK_OUT_UNARY(X)   \
  X(exp, Exp)               \
  X(expm1, Expm1)           \
  X(log, Log)               \
  X(log1p, Log1p)           \
  X(log2, Log2)             \
  X(log10, Log10)           \
  X(sqrt, Sqrt)             \
  X(reciprocal, Reciprocal) \
  X(sigmoid, Sigmoid)       \
  X(tanh, Tanh)             \
  X(relu, Relu)             \
  X(silu, Silu)             \
  X(erf, Erf)               \
  X(erfc, Erfc)             \
  X(sin, Sin)               \
  X(cos, Cos)               \
  X(tan, Tan)               \
  X(asin, Asin)             \
  X(acos, Acos)             \
  X(atan, Atan)             \
  X(sinh, Sinh)             \
  X(cosh, Cosh)             \
  X(neg, Neg)               \
  X(abs, Abs)               \
  X(sign, Sign)             \
  X(floor, Floor)           \
  X(ceil, Ceil)             \
  X(round, Round)
#define WICK_OUT_BINARY(X)   \
  X(add, Add)                \
  X(sub, Sub)                \
  X(mul, Mul)                \
  X(div, Div)                \
  X(pow, Pow)                \
  X(maximum, Max)            \
  X(minimum, Min)            \
  X(atan2, Atan2)            \
  X(eq, Equal)               \
  X(lt, Less)                \
  X(le, LessOrEqual)         \
  X(gt, Greater)             \
  X(ge, GreaterOrEqual)      \
  X(bitwise_and, BitwiseAnd) \
  X(bitwise_or, BitwiseOr)   \
  X(bitwise_xor, BitwiseXor) \
  X(matmul, MatMul)
#define WICK_OUT_REDUCE(X) \
  X(sum, ReduceSum)        \
  X(mean, ReduceMean)      \
  X(prod, ReduceProd)      \
  X(amax, ReduceMax)       \
  X(amin, ReduceMin)
#define X(f, Name) const Tensor& f##_out(const Arg& out, const Arg& x);
// Write the function of x into out.
WICK_OUT_UNARY(X)
#undef X
#define X(f, Name) const Tensor& f##_out(const Arg& out, const Arg& a, const Arg& b);
// Write the function of a and b, which broadcast, into out.
WICK_OUT_BINARY(X)
#undef X
#define X(f, Name) \
  const Tensor& f##_out(const Arg& out, const Arg& x, Dims dims = {}, bool keepdim = false);
// Write the reduction of x over dims into out.
WICK_OUT_REDUCE(X)
#undef X

}  // namespace wick
