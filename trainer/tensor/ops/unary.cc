#include "trainer/tensor/ops/unary.h"

#include <cmath>

#include "trainer/tensor/ops/pointwise.h"

namespace wick {

using namespace pointwise;  // NOLINT: what these files share

namespace {

Tensor one_op(OpId op, const Arg& x) { return call(op, NoAttrs{}, {x}); }
// Rounding integers returns the integers themselves.
Tensor step(OpId op, const char* name, const Arg& x) {
  if (is_bool(x)) refuse_bool(name, "bools have nothing to round", x.where);
  return is_int(x.tensor.dtype()) ? x.tensor.clone(x.where) : one_op(op, x);
}
// Returns false everywhere, in x's shape.
Tensor never(const Arg& x) { return call(OpId::kXor, NoAttrs{}, {eq(x, x), eq(x, x)}); }

}  // namespace

#define X(function, Name)                                            \
  Tensor function(const Arg& x) {                                    \
    need_defined(#function, {x});                                    \
    return call(OpId::k##Name, NoAttrs{}, {{as_float(x), x.where}}); \
  }
WICK_UNARY_OPS(X)
#undef X
#define X(function, other) \
  Tensor function(const Arg& x) { return other(x); }
WICK_UNARY_ALIASES(X)
#undef X

Tensor relu(const Arg& x) {
  if (is_bool(x)) refuse_bool("relu", "a bool tensor has no relu", x.where);
  return one_op(OpId::kRelu, x);
}
Tensor neg(const Arg& x) {
  if (is_bool(x)) {
    refuse_bool("neg", "a bool tensor has no -: use ~ or logical_not() to invert a mask", x.where);
  }
  return one_op(OpId::kNeg, x);
}
Tensor positive(const Arg& x) {
  if (is_bool(x)) refuse_bool("positive", "a bool tensor has no sign", x.where);
  return x.tensor;
}
Tensor abs(const Arg& x) {
  return is_bool(x) || is_unsigned_int(x.tensor.dtype()) ? x.tensor.clone(x.where)
                                                         : one_op(OpId::kAbs, x);
}
Tensor sign(const Arg& x) { return is_bool(x) ? x.tensor.clone(x.where) : one_op(OpId::kSign, x); }
Tensor square(const Arg& x) { return mul(x, x); }
Tensor floor(const Arg& x) { return step(OpId::kFloor, "floor", x); }
Tensor ceil(const Arg& x) { return step(OpId::kCeil, "ceil", x); }
Tensor trunc(const Arg& x) {
  if (!is_float(x.tensor.dtype())) return step(OpId::kFloor, "trunc", x);
  Composite composite("trunc", x.where);
  return where(lt(x, 0), ceil(x), floor(x));
}
Tensor round(const Arg& x, int64_t decimals) {
  if (decimals == 0 || is_int(x.tensor.dtype())) return step(OpId::kRound, "round", x);
  Composite composite("round", x.where);
  double ten = std::pow(10.0, static_cast<double>(decimals < 0 ? -decimals : decimals));
  if (decimals < 0) return one_op(OpId::kRound, x.tensor / ten) * ten;
  return one_op(OpId::kRound, x.tensor * ten) / ten;
}

// Defines a composite of `v`, which is x as a float.
#define WICK_COMPOSED(function, ...)         \
  Tensor function(const Arg& x) {            \
    Composite composite(#function, x.where); \
    need_defined(#function, {x});            \
    Tensor v = as_float(x);                  \
    __VA_ARGS__                              \
  }
WICK_COMPOSED(rsqrt, return reciprocal(sqrt(v));)
WICK_COMPOSED(exp2, return pow(2, v);)
// sin(pi v) / (pi v), with v = 1 where `mask` is true.
static Tensor quotient_unless(const Tensor& mask, const Tensor& v) {
  Tensor angle = where(mask, constant(v, 1), v) * M_PI;
  return sin(angle) / angle;
}
WICK_COMPOSED(sinc, {
  Tensor plain = v.detach(), at_zero = eq(plain, 0), one = constant(v, 1);
  if (!pointwise::differentiated(v)) return where(at_zero, one, quotient_unless(at_zero, v));
  // Around 0 its slopes are those of its series, since the quotient's cancel there; the value is
  // the same as without a slope. What the other form is for is masked before either of them, or
  // its infinities would come back as 0 times infinity.
  Tensor near = lt(abs(plain), 0.1);
  Tensor value = where(at_zero, one, quotient_unless(at_zero, plain));
  Tensor small = where(near, v, constant(v, 0)) * M_PI, square = small * small, series = one;
  for (int k = 14; k > 0; k -= 2) series = 1 - square * (1.0 / (k * (k + 1))) * series;
  series = series + (value - series.detach());
  return where(near, series, quotient_unless(near, v));
})
WICK_COMPOSED(deg2rad, return v * (M_PI / 180);)
WICK_COMPOSED(rad2deg, return v * (180 / M_PI);)
WICK_COMPOSED(logsigmoid, return -softplus(-v);)
WICK_COMPOSED(softsign, return v / (abs(v) + 1);)
WICK_COMPOSED(tanhshrink, return v - tanh(v);)
WICK_COMPOSED(mish, return v * tanh(softplus(v));)
WICK_COMPOSED(selu,
              return elu(v, 1.6732632423543772848170429916717) * 1.0507009873554804934193349852946;)
#undef WICK_COMPOSED
Tensor frac(const Arg& x) {
  if (!is_float(x.tensor.dtype())) {
    throw_error("frac", std::string("needs floats, got ") + dtype_name(x.tensor.dtype()), x.where,
                Code::kTypeMismatch);
  }
  Composite composite("frac", x.where);
  return x.tensor - trunc(x);
}
Tensor hardsigmoid(const Arg& x) {
  return call(OpId::kHardSigmoid, HardSigmoidAttrs{1.0 / 6, 0.5}, {x});
}

Tensor isnan(const Arg& x) {
  return is_float(x.tensor.dtype()) ? one_op(OpId::kIsNaN, x) : never(x);
}
static Tensor infinite(const Arg& x, bool negative, bool positive) {
  if (!is_float(x.tensor.dtype())) return never(x);
  return call(OpId::kIsInf, IsInfAttrs{negative, positive}, {x});
}
Tensor isinf(const Arg& x) { return infinite(x, true, true); }
Tensor isposinf(const Arg& x) { return infinite(x, false, true); }
Tensor isneginf(const Arg& x) { return infinite(x, true, false); }
Tensor isfinite(const Arg& x) { return logical_not(logical_or(isnan(x), isinf(x))); }
Tensor signbit(const Arg& x) {
  if (is_bool(x)) return never(x);
  if (!is_float(x.tensor.dtype())) return lt(x, 0);
  Composite composite("signbit", x.where);
  return where(eq(x, 0), lt(reciprocal(x.tensor.detach()), 0), lt(x, 0));
}

Tensor logit(const Arg& x, std::optional<double> eps) {
  Composite composite("logit", x.where);
  Tensor v = as_float(x);
  if (eps) v = clamp(v, *eps, 1 - *eps);
  return log(v / (1 - v));
}
Tensor nan_to_num(const Arg& x, double nan, std::optional<double> posinf,
                  std::optional<double> neginf) {
  if (!is_float(x.tensor.dtype())) return x.tensor.clone(x.where);
  Composite composite("nan_to_num", x.where);
  FloatInfo limits = finfo(x.tensor.dtype());
  Tensor v = where(isnan(x), constant(x.tensor, nan), x);
  v = where(isposinf(x), constant(x.tensor, posinf.value_or(limits.max)), v);
  return where(isneginf(x), constant(x.tensor, neginf.value_or(limits.min)), v);
}

}  // namespace wick
