// In-place forms of the elementwise functions, name_(x, ...): write the result into x's own bytes
// (trainer/tensor/inplace.h has the rules), and return x. The same as the methods: x.relu_().
#pragma once

#include "trainer/tensor/ops/common.h"

namespace wick {

// clang-format off
#define WICK_OR(...) = __VA_ARGS__
#define WICK_INPLACE(name, arguments, ...) \
  const Tensor& name##_(const Arg& x __VA_OPT__(,) __VA_ARGS__);
// Write the result of the function without the _ into x's bytes, and return x. The result must have
// x's shape, and a dtype that can be cast to x's.
#include "trainer/tensor/methods.def"
#undef WICK_OR
#undef WICK_INPLACE
// clang-format on
// Write the result of the function without the _ into x's bytes, and return x. The result must have
// x's shape, and a dtype that can be cast to x's.
const Tensor& add_(const Arg& x, const Arg& other, Scalar alpha = 1);
const Tensor& add_(const Arg& x, Scalar other);
const Tensor& sub_(const Arg& x, const Arg& other, Scalar alpha = 1);
const Tensor& sub_(const Arg& x, Scalar other);
const Tensor& mul_(const Arg& x, const Arg& other);
const Tensor& mul_(const Arg& x, Scalar other);
const Tensor& div_(const Arg& x, const Arg& other);
const Tensor& div_(const Arg& x, Scalar other);
const Tensor& fill_(const Arg& x, Scalar value);
const Tensor& zero_(const Arg& x);

#define WICK_INPLACE_OPERATORS(X) \
  X(+=, add_)                     \
  X(-=, sub_)                     \
  X(*=, mul_)                     \
  X(/=, div_)                     \
  X(%=, remainder_)               \
  X(&=, bitwise_and_)             \
  X(|=, bitwise_or_)              \
  X(^=, bitwise_xor_)             \
  X(<<=, bitwise_left_shift_)     \
  X(>>=, bitwise_right_shift_)
#define X(op, f)                                         \
  const Tensor& operator op(const Arg& x, const Arg& b); \
  const Tensor& operator op(const Arg& x, Scalar b);
// The functions as operators.
WICK_INPLACE_OPERATORS(X)
#undef X

}  // namespace wick
