// Elementwise gradient formulas as one pass over the memory. A formula is written once, as a
// generic lambda over values:
//
//   in_one_pass([](const auto& g, const auto& y) { return g * (1 - y * y); }, g, y)
//
// If its ops have to be visible (recorded, captured or explained), the values are tensors and every
// * is an op. Otherwise they are the steps of one FusedElementwise, which gives the same bits as
// these ops one after the other (docs/inside/kernels.md).
#pragma once

#include <initializer_list>
#include <tuple>

#include "runtime/ops/chain.h"
#include "trainer/autograd/grad/common.h"

namespace wick::formula {

// The FusedElementwise program while the formula builds it.
struct Pass {
  ChainAttrs attrs;
  int constant(double v);
  int step(OpId op, int a, int b = 0, int c = 0);
  // With take_first the first tensor is not read again, and its bytes may be reused if nothing else
  // shares them.
  Tensor run(int result, std::initializer_list<const Tensor*> in, bool take_first = false) const;
};

struct Value {
  Pass* pass;
  int operand;
};

// Returns whether single ops need not be visible: no higher orders, forward mode, capture or
// explanation.
bool unrecorded();
// Returns whether the formula can run as one pass: unrecorded(), and all tensors of one shape and
// of float32 or a 16-bit float.
bool unseen(std::initializer_list<const Tensor*> in);
// The same for rows of float32: the last `row_dims` dims of the first tensor, which the others
// broadcast to.
bool unseen_rows(int row_dims, std::initializer_list<const Tensor*> in);

#define WICK_PASS_BINARY(function, Op)                                          \
  inline Value function(Value a, Value b) {                                     \
    return {a.pass, a.pass->step(OpId::k##Op, a.operand, b.operand)};           \
  }                                                                             \
  inline Value function(Value a, double b) { /* as the op rounds a number */    \
    return {a.pass, a.pass->step(OpId::k##Op, a.operand, a.pass->constant(b))}; \
  }                                                                             \
  inline Value function(double a, Value b) {                                    \
    return {b.pass, b.pass->step(OpId::k##Op, b.pass->constant(a), b.operand)}; \
  }
WICK_PASS_BINARY(operator+, Add)
WICK_PASS_BINARY(operator-, Sub)
WICK_PASS_BINARY(operator*, Mul)
WICK_PASS_BINARY(operator/, Div)
WICK_PASS_BINARY(gt, Greater)
WICK_PASS_BINARY(ge, GreaterOrEqual)
WICK_PASS_BINARY(lt, Less)
WICK_PASS_BINARY(le, LessOrEqual)
WICK_PASS_BINARY(logical_and, And)
#undef WICK_PASS_BINARY

#define WICK_PASS_UNARY(function, Op) \
  inline Value function(Value x) { return {x.pass, x.pass->step(OpId::k##Op, x.operand)}; }
WICK_PASS_UNARY(operator-, Neg)
WICK_PASS_UNARY(exp, Exp)
WICK_PASS_UNARY(sqrt, Sqrt)
WICK_PASS_UNARY(erf, Erf)
WICK_PASS_UNARY(sigmoid, Sigmoid)
WICK_PASS_UNARY(tanh, Tanh)
WICK_PASS_UNARY(sin, Sin)
WICK_PASS_UNARY(cos, Cos)
WICK_PASS_UNARY(sign, Sign)
#undef WICK_PASS_UNARY

inline Value zero_like(Value x) { return {x.pass, x.pass->constant(0)}; }
inline Value where(Value condition, Value a, Value b) {
  return {a.pass, a.pass->step(OpId::kWhere, condition.operand, a.operand, b.operand)};
}

template <class F, class... T>
Tensor one_pass(const F& formula, bool take_first, const T&... in) {
  if (!unseen({&in...})) return formula(in...);
  Pass pass;
  int next = 0;
  // Braces evaluate from left to right.
  auto apply = [&](auto... values) { return formula(values...); };
  auto values = std::tuple{((void)in, Value{&pass, next++})...};
  return pass.run(std::apply(apply, values).operand, {&in...}, take_first);
}
template <class F, class... T>
Tensor in_one_pass(const F& formula, const T&... in) {
  return one_pass(formula, false, in...);
}
// Here the first tensor is the incoming gradient, which the formula uses only once, so that its
// bytes may be reused.
template <class F, class... T>
Tensor gradient_in_one_pass(const F& formula, const T&... in) {
  return one_pass(formula, true, in...);
}

// The rows that a formula sees: mean() is the mean of each row.
struct TensorRows {
  Dims dims;
  Tensor mean(const Tensor& t) const { return wick::mean(t, dims, true); }
};
struct ValueRows {
  Value mean(Value v) const { return {v.pass, v.pass->step(OpId::kReduceMean, v.operand)}; }
};

// in_one_pass of a formula(rows, x, ...) that also takes means over the last `row_dims` dims of x.
template <class F, class... T>
Tensor rows_in_one_pass(const F& formula, int row_dims, const Tensor& x, const T&... in) {
  if (!unseen_rows(row_dims, {&x, &in...})) {
    TensorRows rows;
    for (int d = x.rank() - row_dims; d < x.rank(); ++d) rows.dims.values[rows.dims.count++] = d;
    return formula(rows, x, in...);
  }
  Pass pass;
  pass.attrs.row_dims = row_dims;
  int next = 1;
  auto apply = [&](auto... values) { return formula(ValueRows{}, Value{&pass, 0}, values...); };
  auto values = std::tuple{((void)in, Value{&pass, next++})...};
  return pass.run(std::apply(apply, values).operand, {&x, &in...});
}

}  // namespace wick::formula
