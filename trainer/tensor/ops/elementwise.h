// Elementwise functions: arithmetic, comparison, logic, the unary family.
#pragma once

#include "trainer/tensor/ops/common.h"

namespace wick {

// -- arithmetic: numpy broadcasting, PyTorch's dtype promotion
Tensor add(const Arg& a, const Arg& b);
Tensor sub(const Arg& a, const Arg& b);
Tensor mul(const Arg& a, const Arg& b);
Tensor div(const Arg& a, const Arg& b);  // integers become float32
Tensor pow(const Arg& a, const Arg& b);
Tensor pow(const Arg& a, Scalar b);
Tensor maximum(const Arg& a, const Arg& b);  // NaN wins, +0 > -0
Tensor minimum(const Arg& a, const Arg& b);
Tensor operator+(const Arg& a, const Arg& b);
Tensor operator-(const Arg& a, const Arg& b);
Tensor operator*(const Arg& a, const Arg& b);
Tensor operator/(const Arg& a, const Arg& b);
Tensor operator+(const Arg& a, Scalar b);
Tensor operator-(const Arg& a, Scalar b);
Tensor operator*(const Arg& a, Scalar b);
Tensor operator/(const Arg& a, Scalar b);
Tensor operator+(Scalar a, const Arg& b);
Tensor operator-(Scalar a, const Arg& b);
Tensor operator*(Scalar a, const Arg& b);
Tensor operator/(Scalar a, const Arg& b);
Tensor operator-(const Arg& a);

// -- comparison and logic: bool tensors. == is spelled eq(): Tensor handles are values too.
Tensor eq(const Arg& a, const Arg& b);
Tensor ne(const Arg& a, const Arg& b);
Tensor lt(const Arg& a, const Arg& b);
Tensor le(const Arg& a, const Arg& b);
Tensor gt(const Arg& a, const Arg& b);
Tensor ge(const Arg& a, const Arg& b);
Tensor eq(const Arg& a, Scalar b);
Tensor ne(const Arg& a, Scalar b);
Tensor lt(const Arg& a, Scalar b);
Tensor le(const Arg& a, Scalar b);
Tensor gt(const Arg& a, Scalar b);
Tensor ge(const Arg& a, Scalar b);
Tensor logical_and(const Arg& a, const Arg& b);
Tensor logical_or(const Arg& a, const Arg& b);
Tensor logical_xor(const Arg& a, const Arg& b);
Tensor logical_not(const Arg& a);                                // other dtypes: not 0 is true
Tensor where(const Arg& condition, const Arg& a, const Arg& b);  // a bool and two; all broadcast

// -- elementwise: x's shape and dtype. Floats; relu, erf, neg, abs, sign, clamp take integers too
#define WICK_UNARY_OPS(X)   \
  X(relu, Relu)             \
  X(sigmoid, Sigmoid)       \
  X(tanh, Tanh)             \
  X(silu, Silu)             \
  X(hardswish, HardSwish)   \
  X(softplus, Softplus)     \
  X(exp, Exp)               \
  X(log, Log)               \
  X(sqrt, Sqrt)             \
  X(reciprocal, Reciprocal) \
  X(erf, Erf)               \
  X(sin, Sin)               \
  X(cos, Cos)               \
  X(tan, Tan)               \
  X(asin, Asin)             \
  X(acos, Acos)             \
  X(atan, Atan)             \
  X(sinh, Sinh)             \
  X(cosh, Cosh)             \
  X(asinh, Asinh)           \
  X(acosh, Acosh)           \
  X(atanh, Atanh)           \
  X(neg, Neg)               \
  X(abs, Abs)               \
  X(floor, Floor)           \
  X(ceil, Ceil)             \
  X(round, Round)           \
  X(sign, Sign)
#define X(function, Name) Tensor function(const Arg& x);
WICK_UNARY_OPS(X)
#undef X
Tensor leaky_relu(const Arg& x, double negative_slope = 0.01);
Tensor elu(const Arg& x, double alpha = 1.0);
Tensor gelu(const Arg& x, bool tanh_approximation = false);
Tensor hardsigmoid(const Arg& x);
Tensor relu6(const Arg& x);
Tensor clamp(const Arg& x, double min, double max);
Tensor square(const Arg& x);

}  // namespace wick
