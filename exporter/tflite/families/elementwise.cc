// Operators that work element by element, in whichever order the dims of their inputs are there.
#include "exporter/tflite/read/read.h"
#include "runtime/ops/attrs/unary.h"

namespace wick::tflite {
namespace {

// Makes the result from input 0 by a formula.
template <class Formula>
void unary(ReadCtx& c, const Formula& formula) {
  const Layout at = c.layout();
  c.set(0, formula(c.in(0, at)), at);
}
template <OpId op>
void read_unary(ReadCtx& c) {
  unary(c, [&](ValueId x) { return c.emit(op, {x}); });
}
template <fbs::Activation activation>
void read_activation(ReadCtx& c) {
  unary(c, [&](ValueId x) { return c.activated(x, activation); });
}
void read_relu_0_to_1(ReadCtx& c) {
  unary(c, [&](ValueId x) { return c.emit(OpId::kClip, ClipAttrs{0, 1}, {x}); });
}
void read_leaky_relu(ReadCtx& c) {
  const LeakyReluAttrs a{static_cast<double>(c.options<fbs::LeakyReluOptions>().alpha())};
  unary(c, [&](ValueId x) { return c.emit(OpId::kLeakyRelu, a, {x}); });
}
void read_elu(ReadCtx& c) {
  unary(c, [&](ValueId x) { return c.emit(OpId::kElu, EluAttrs{}, {x}); });
}
void read_gelu(ReadCtx& c) {
  const GeluAttrs a{c.options<fbs::GeluOptions>().approximate() ? 1 : 0};
  unary(c, [&](ValueId x) { return c.emit(OpId::kGelu, a, {x}); });
}
void read_square(ReadCtx& c) {
  unary(c, [&](ValueId x) { return c.emit(OpId::kMul, {x, x}); });
}
void read_rsqrt(ReadCtx& c) {
  unary(c, [&](ValueId x) { return c.emit(OpId::kReciprocal, {c.emit(OpId::kSqrt, {x})}); });
}

// Makes the result from the numbers of two inputs, which are broadcast.
template <class Formula>
void binary(ReadCtx& c, const Formula& formula) {
  const Layout at = c.layout();
  const ValueId a = c.in(0, at);
  c.set(0, formula(a, c.in(1, at)), at);
}
template <OpId op>
void read_binary(ReadCtx& c) {
  binary(c, [&](ValueId a, ValueId b) { return c.emit(op, {a, b}); });
}
// An operator with an activation, in options of the given number.
template <OpId op, uint8_t options>
void read_arithmetic(ReadCtx& c) {
  const fbs::Activation activation = c.options<fbs::ActivationOptions>(options).activation();
  binary(c, [&](ValueId a, ValueId b) { return c.activated(c.emit(op, {a, b}), activation); });
}
// Bytes of one quantization are compared as they are.
template <OpId op>
void read_extreme(ReadCtx& c) {
  if (!c.same_bytes()) return read_binary<op>(c);
  const Layout at = c.layout();
  const ValueId a = c.raw(0, at);
  c.set_raw(0, c.emit(op, {a, c.raw(1, at)}), at);
}
void read_squared_difference(ReadCtx& c) {
  binary(c, [&](ValueId a, ValueId b) {
    const ValueId d = c.emit(OpId::kSub, {a, b});
    return c.emit(OpId::kMul, {d, d});
  });
}
// Quotients are rounded down: of integers, what Div leaves of x less x mod y.
void read_floor_div(ReadCtx& c) {
  binary(c, [&](ValueId a, ValueId b) {
    if (is_float(c.g.value(a).dtype)) return c.emit(OpId::kFloor, {c.emit(OpId::kDiv, {a, b})});
    const ValueId rest = c.emit(OpId::kMod, ModAttrs{}, {a, b});
    return c.emit(OpId::kDiv, {c.emit(OpId::kSub, {a, rest}), b});
  });
}
void read_floor_mod(ReadCtx& c) {
  binary(c, [&](ValueId a, ValueId b) { return c.emit(OpId::kMod, ModAttrs{}, {a, b}); });
}

// The result is a truth value.
template <OpId op, bool negated = false>
void read_compare(ReadCtx& c) {
  const Layout at = c.layout();
  const Tensor &x = c.input(0), &y = c.input(1);
  const bool as_bytes = x.dtype == y.dtype && x.how == y.how;
  const ValueId a = as_bytes ? c.raw(0, at) : c.in(0, at);
  const ValueId v = c.emit(op, {a, as_bytes ? c.raw(1, at) : c.in(1, at)});
  c.set_raw(0, negated ? c.emit(OpId::kNot, {v}) : v, at);
}

// Inputs: a condition, and what is taken where it holds and where it does not. The first version
// takes a condition of one dim, which goes along the first dim of the others.
template <bool first_version>
void read_select(ReadCtx& c) {
  const bool bytes = c.same_bytes(1);
  ValueId condition = c.raw(0);
  const int rank = c.rank(1);
  if (first_version && c.rank(0) == 1 && rank > 1) {
    std::vector<int64_t> shape(static_cast<size_t>(rank), 1);
    shape[0] = c.sizes(0)[0];
    condition = c.reshape(condition, shape);
  }
  const ValueId a = bytes ? c.raw(1) : c.in(1), b = bytes ? c.raw(2) : c.in(2);
  const ValueId y = c.emit(OpId::kWhere, {condition, a, b});
  return bytes ? c.set_raw(0, y) : c.set(0, y);
}

// These are along the last axis, which planes do not have at the end.
template <OpId op>
void read_softmax(ReadCtx& c) {
  ValueId x = c.in(0);
  const float beta = op == OpId::kSoftmax ? c.options<fbs::SoftmaxOptions>().beta() : 1;
  if (beta != 1) x = c.emit(OpId::kMul, {x, c.scalar(beta)});
  c.set(0, c.emit(op, AxisAttrs{-1}, {x}));
}
void read_l2_normalization(ReadCtx& c) {
  constexpr double kLeast = 1e-6;  // of the length, so that zeros stay
  const auto& o = c.options<fbs::ActivationOptions>(kL2NormOptions);
  const ValueId x = c.in(0);
  ReduceAttrs last;
  last.axes = {-1};
  const ValueId sum = c.emit(OpId::kReduceSum, last, {c.emit(OpId::kMul, {x, x})});
  const ValueId length = c.emit(OpId::kMax, {c.emit(OpId::kSqrt, {sum}), c.scalar(kLeast)});
  c.set(0, c.activated(c.emit(OpId::kDiv, {x, length}), o.activation()));
}

}  // namespace

WICK_TFLITE_READ(RELU, read_activation<fbs::Activation::Relu>);
WICK_TFLITE_READ(RELU6, read_activation<fbs::Activation::Relu6>);
WICK_TFLITE_READ(RELU_N1_TO_1, read_activation<fbs::Activation::ReluN1To1>);
WICK_TFLITE_READ(RELU_0_TO_1, read_relu_0_to_1);
WICK_TFLITE_READ(TANH, read_activation<fbs::Activation::Tanh>);
WICK_TFLITE_READ(LOGISTIC, read_unary<OpId::kSigmoid>);
WICK_TFLITE_READ(LEAKY_RELU, read_leaky_relu);
WICK_TFLITE_READ(PRELU, read_binary<OpId::kPRelu>);
WICK_TFLITE_READ(ELU, read_elu);
WICK_TFLITE_READ(GELU, read_gelu);
WICK_TFLITE_READ(HARD_SWISH, read_unary<OpId::kHardSwish>);
WICK_TFLITE_READ(EXP, read_unary<OpId::kExp>);
WICK_TFLITE_READ(LOG, read_unary<OpId::kLog>);
WICK_TFLITE_READ(SQRT, read_unary<OpId::kSqrt>);
WICK_TFLITE_READ(RSQRT, read_rsqrt);
WICK_TFLITE_READ(SQUARE, read_square);
WICK_TFLITE_READ(ABS, read_unary<OpId::kAbs>);
WICK_TFLITE_READ(NEG, read_unary<OpId::kNeg>);
WICK_TFLITE_READ(SIGN, read_unary<OpId::kSign>);
WICK_TFLITE_READ(FLOOR, read_unary<OpId::kFloor>);
WICK_TFLITE_READ(CEIL, read_unary<OpId::kCeil>);
WICK_TFLITE_READ(ROUND, read_unary<OpId::kRound>);
WICK_TFLITE_READ(SIN, read_unary<OpId::kSin>);
WICK_TFLITE_READ(COS, read_unary<OpId::kCos>);
WICK_TFLITE_READ(LOGICAL_NOT, read_unary<OpId::kNot>);

WICK_TFLITE_READ(ADD, read_arithmetic<OpId::kAdd, kAddOptions>);
WICK_TFLITE_READ(SUB, read_arithmetic<OpId::kSub, kSubOptions>);
WICK_TFLITE_READ(MUL, read_arithmetic<OpId::kMul, kMulOptions>);
WICK_TFLITE_READ(DIV, read_arithmetic<OpId::kDiv, kDivOptions>);
WICK_TFLITE_READ(MAXIMUM, read_extreme<OpId::kMax>);
WICK_TFLITE_READ(MINIMUM, read_extreme<OpId::kMin>);
WICK_TFLITE_READ(POW, read_binary<OpId::kPow>);
WICK_TFLITE_READ(SQUARED_DIFFERENCE, read_squared_difference);
WICK_TFLITE_READ(FLOOR_DIV, read_floor_div);
WICK_TFLITE_READ(FLOOR_MOD, read_floor_mod);
WICK_TFLITE_READ(LOGICAL_AND, read_binary<OpId::kAnd>);
WICK_TFLITE_READ(LOGICAL_OR, read_binary<OpId::kOr>);

WICK_TFLITE_READ(EQUAL, read_compare<OpId::kEqual>);
WICK_TFLITE_READ(NOT_EQUAL, read_compare<OpId::kEqual, true>);
WICK_TFLITE_READ(LESS, read_compare<OpId::kLess>);
WICK_TFLITE_READ(LESS_EQUAL, read_compare<OpId::kLessOrEqual>);
WICK_TFLITE_READ(GREATER, read_compare<OpId::kGreater>);
WICK_TFLITE_READ(GREATER_EQUAL, read_compare<OpId::kGreaterOrEqual>);
WICK_TFLITE_READ(SELECT, read_select<true>);
WICK_TFLITE_READ(SELECT_V2, read_select<false>);

WICK_TFLITE_READ(SOFTMAX, read_softmax<OpId::kSoftmax>);
WICK_TFLITE_READ(LOG_SOFTMAX, read_softmax<OpId::kLogSoftmax>);
WICK_TFLITE_READ(L2_NORMALIZATION, read_l2_normalization);

}  // namespace wick::tflite
