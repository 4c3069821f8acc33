#include "trainer/tensor/ops/elementwise.h"

#include <cmath>

#include "trainer/tensor/autocast.h"
#include "trainer/tensor/ops/pointwise.h"
#include "trainer/tensor/ops/reuse.h"

namespace wick {

using namespace pointwise;  // NOLINT: what these files share

namespace pointwise {

Tensor times(const Arg& x, Scalar alpha) {
  if (alpha.value == 1) return x.tensor;
  if (!alpha.integral && category(x.tensor.dtype()) < 2) {
    const CallSite* site = modes().site;  // the public function that is running
    throw_error(site != nullptr ? site->name : "add",
                std::string("a whole number must be given as alpha of integer tensors, here ") +
                    dtype_name(x.tensor.dtype()),
                site != nullptr ? site->where : x.where, Code::kTypeMismatch);
  }
  return mul(x, scalar_like(x, alpha));
}

}  // namespace pointwise

namespace {

constexpr char kNoBoolMinus[] =
    "a bool tensor has no -: use ^ or logical_xor() of two, ~ or logical_not() to invert a mask";

Tensor compare(OpId op, const char* name, const Arg& a, const Arg& b) {
  auto [x, y] = promoted(name, a, b);
  if (x.dtype() == DType::kBool && op != OpId::kEqual) {
    x = x.to(DType::kU8, a.where);
    y = y.to(DType::kU8, b.where);
  }
  return call(op, NoAttrs{}, {{x, a.where}, {y, b.where}});
}
Tensor logical(OpId op, const char* name, const Arg& a, const Arg& b) {
  need_defined(name, {a, b});
  return call(op, NoAttrs{},
              {{a.tensor.to(DType::kBool, a.where), a.where},
               {b.tensor.to(DType::kBool, b.where), b.where}});
}
Tensor bitwise(OpId op, OpId of_bools, const char* name, const Arg& a, const Arg& b) {
  auto [x, y] = promoted(name, a, b);
  if (x.dtype() == DType::kBool) op = of_bools;
  if (is_float(x.dtype())) {
    throw_error(name, std::string("needs integers or bools, got ") + dtype_name(x.dtype()), a.where,
                Code::kTypeMismatch);
  }
  return call(op, NoAttrs{}, {{x, a.where}, {y, b.where}});
}
Tensor shift(bool right, const char* name, const Arg& a, const Arg& b) {
  auto [x, y] = promoted(name, a, b);
  if (!is_int(x.dtype())) {
    throw_error(name, std::string("needs integers, got ") + dtype_name(x.dtype()), a.where,
                Code::kTypeMismatch);
  }
  return call(OpId::kBitShift, BitShiftAttrs{right}, {{x, a.where}, {y, b.where}});
}
Tensor modulo(bool fmod, const char* name, const Arg& a, const Arg& b) {
  auto [x, y] = promoted(name, a, b);
  if (x.dtype() == DType::kBool) refuse_bool(name, "bools have no remainder", a.where);
  need_divisor(name, y, a.where);
  return call(OpId::kMod, ModAttrs{fmod}, {{x, a.where}, {y, b.where}});
}
// x / y for rounding: the slope of a rounded quotient is 0, even if that of x / 0 is infinite.
Tensor flat_quotient(const Tensor& x, const Tensor& y) {
  if (!is_float(x.dtype()) || !(differentiated(x) || differentiated(y))) {
    return call(OpId::kDiv, NoAttrs{}, {x, y});
  }
  Tensor zero = eq(y, 0);
  return where(zero, x.detach() / y.detach(), x / where(zero, constant(y, 1), y));
}
Tensor opposite_signs(const Tensor& a, const Tensor& b) { return ne(lt(a, 0), lt(b, 0)); }

// Returns the larger of both first; for log-sum-exps, which must avoid inf - inf.
std::pair<Tensor, Tensor> ordered(const Tensor& a, const Tensor& b) {
  Tensor first = logical_or(ge(a, b), ne(a, a));
  Tensor hi = where(first, a, b), lo = where(first, b, a);
  return {hi, where(isinf(hi), constant(hi, 0), lo - hi)};
}

}  // namespace

Tensor add(const Arg& a, const Arg& b, Scalar alpha) {
  auto [x, y] = promoted("add", a, b);
  if (x.dtype() == DType::kBool) return logical_or({x, a.where}, {y, b.where});
  return call(OpId::kAdd, NoAttrs{}, {{x, a.where}, {times({y, b.where}, alpha), b.where}});
}
Tensor sub(const Arg& a, const Arg& b, Scalar alpha) {
  need_defined("sub", {a, b});
  if (is_bool(a) || is_bool(b)) refuse_bool("sub", kNoBoolMinus, a.where);
  auto [x, y] = promoted("sub", a, b);
  return call(OpId::kSub, NoAttrs{}, {{x, a.where}, {times({y, b.where}, alpha), b.where}});
}
Tensor rsub(const Arg& a, const Arg& b, Scalar alpha) { return sub(b, a, alpha); }
Tensor subtract(const Arg& a, const Arg& b, Scalar alpha) { return sub(a, b, alpha); }
Tensor add(const Arg& a, Scalar b, Scalar alpha) {
  return add(a, Arg(scalar_like(a, b), a.where), alpha);
}
Tensor sub(const Arg& a, Scalar b, Scalar alpha) {
  if (b.boolean) refuse_bool("sub", kNoBoolMinus, a.where);
  return sub(a, Arg(scalar_like(a, b), a.where), alpha);
}
Tensor rsub(const Arg& a, Scalar b, Scalar alpha) {
  if (b.boolean) refuse_bool("rsub", kNoBoolMinus, a.where);
  return sub(Arg(scalar_like(a, b), a.where), a, alpha);
}

Tensor mul(const Arg& a, const Arg& b) {
  auto [x, y] = promoted("mul", a, b);
  OpId op = x.dtype() == DType::kBool ? OpId::kAnd : OpId::kMul;
  return call(op, NoAttrs{}, {{x, a.where}, {y, b.where}});
}
Tensor div(const Arg& a, const Arg& b) {
  auto [x, y] = promoted_floats("div", a, b);
  return call(OpId::kDiv, NoAttrs{}, {{x, a.where}, {y, b.where}});
}
Tensor div(const Arg& a, const Arg& b, const char* rounding_mode) {
  const std::string mode = rounding_mode;
  if (mode == "floor") return floor_divide(a, b);
  if (mode != "trunc") {
    throw_error("div", "rounding_mode must be \"trunc\" or \"floor\", got \"" + mode + "\"",
                a.where);
  }
  Composite composite("div", a.where);
  auto [x, y] = promoted("div", a, b);
  if (x.dtype() == DType::kBool) refuse_bool("div", "bools have no rounded quotient", a.where);
  need_divisor("div", y, a.where);
  return trunc(flat_quotient(x, y));
}
Tensor div(const Arg& a, Scalar b, const char* rounding_mode) {
  return div(a, Arg(scalar_like(a, b), a.where), rounding_mode);
}

// Uses the exact remainder: the floor of a rounded quotient may be one too large.
Tensor floor_divide(const Arg& a, const Arg& b) {
  Composite composite("floor_divide", a.where);
  auto [x, y] = promoted("floor_divide", a, b);
  if (x.dtype() == DType::kBool) refuse_bool("floor_divide", "bools have no quotient", a.where);
  need_divisor("floor_divide", y, a.where);
  if (is_unsigned_int(x.dtype())) return call(OpId::kDiv, NoAttrs{}, {x, y});
  Tensor rest = call(OpId::kMod, ModAttrs{1}, {x.detach(), y.detach()});
  Tensor below = logical_and(ne(rest, 0), opposite_signs(rest, y));
  if (is_int(x.dtype())) {
    return call(OpId::kDiv, NoAttrs{}, {x, y}) - below.to(x.dtype());
  }
  Tensor quotient = flat_quotient(x - rest, y);  // an integer, up to rounding
  Tensor whole = round(where(below, quotient - 1, quotient));
  return where(eq(y, 0), x.detach() / y.detach(), whole);
}
Tensor remainder(const Arg& a, const Arg& b) { return modulo(false, "remainder", a, b); }
Tensor fmod(const Arg& a, const Arg& b) { return modulo(true, "fmod", a, b); }

Tensor pow(const Arg& a, const Arg& b) {
  auto [x, y] = promoted("pow", a, b);
  if (x.dtype() == DType::kBool) refuse_bool("pow", "bools have no powers", a.where);
  return call(OpId::kPow, NoAttrs{}, {{x, a.where}, {y, b.where}});
}
Tensor pow(const Arg& a, Scalar b) {
  if (is_int(a.tensor.dtype()) && b.integral && b.value < 0) {
    throw_error("pow", "integers to a negative integer power: make the base a float", a.where,
                Code::kTypeMismatch);
  }
  const bool wider = autocast_enabled() && dtype_bits(a.tensor.dtype()) == 16;  // as for pow
  if (b.value == 2 && is_float(a.tensor.dtype()) && !wider) return mul(a, a);
  return pow(a, Arg(scalar_like(a, b), a.where));
}
Tensor float_power(const Arg& a, const Arg& b) {
  need_defined("float_power", {a, b});
  return pow({a.tensor.to(DType::kF64, a.where), a.where},
             {b.tensor.to(DType::kF64, b.where), b.where});
}

Tensor maximum(const Arg& a, const Arg& b) {
  auto [x, y] = promoted("maximum", a, b);
  OpId op = x.dtype() == DType::kBool ? OpId::kOr : OpId::kMax;
  return call(op, NoAttrs{}, {{x, a.where}, {y, b.where}});
}
Tensor minimum(const Arg& a, const Arg& b) {
  auto [x, y] = promoted("minimum", a, b);
  OpId op = x.dtype() == DType::kBool ? OpId::kAnd : OpId::kMin;
  return call(op, NoAttrs{}, {{x, a.where}, {y, b.where}});
}
static Tensor ignoring_nan(const Arg& a, const Arg& b, const char* name,
                           Tensor (*pick)(const Arg&, const Arg&),
                           Tensor (*first)(const Arg&, const Arg&)) {
  Composite composite(name, a.where);
  auto [x, y] = promoted(name, a, b);
  if (!is_float(x.dtype())) return pick(x, y);
  return where(logical_or(first(x, y), isnan(y)), x, y);  // equal ones: the first gets the gradient
}
Tensor fmax(const Arg& a, const Arg& b) { return ignoring_nan(a, b, "fmax", maximum, ge); }
Tensor fmin(const Arg& a, const Arg& b) { return ignoring_nan(a, b, "fmin", minimum, le); }

Tensor atan2(const Arg& a, const Arg& b) {
  auto [y, x] = promoted_floats("atan2", a, b);
  return call(OpId::kAtan2, NoAttrs{}, {{y, a.where}, {x, b.where}});
}
// Scaled by the larger operand, so that squares neither overflow nor underflow.
Tensor hypot(const Arg& a, const Arg& b) {
  Composite composite("hypot", a.where);
  auto [x, y] = promoted_floats("hypot", a, b);
  Tensor side = maximum(abs(x.detach()), abs(y.detach()));
  Tensor unit = where(logical_or(eq(side, 0), isinf(side)), constant(side, 1), side);
  Tensor p = x / unit, q = y / unit;
  return sqrt(p * p + q * q) * unit;
}
Tensor logaddexp(const Arg& a, const Arg& b) {
  Composite composite("logaddexp", a.where);
  auto [x, y] = promoted_floats("logaddexp", a, b);
  auto [hi, gap] = ordered(x, y);
  return where(logical_and(isinf(hi), ne(x, y)), hi, hi + softplus(gap));
}
Tensor logaddexp2(const Arg& a, const Arg& b) {
  Composite composite("logaddexp2", a.where);
  auto [x, y] = promoted_floats("logaddexp2", a, b);
  auto [hi, gap] = ordered(x, y);
  return where(logical_and(isinf(hi), ne(x, y)), hi, hi + softplus(gap * M_LN2) * M_LOG2E);
}
Tensor xlogy(const Arg& a, const Arg& b) {
  Composite composite("xlogy", a.where);
  auto [x, y] = promoted_floats("xlogy", a, b);
  const Tensor none = eq(x, 0);
  Tensor from = where(logical_and(none, logical_or(le(y, 0), isinf(y))), constant(y, 1), y);
  // Where both are 0, y's gradient is x / y, NaN, as PyTorch has it: the root is 0 there, and its
  // slope has no end.
  if (differentiated(y)) {
    const Tensor both = logical_and(none, eq(y, 0));
    from = where(both, constant(y, 1) + sqrt(where(both, y, constant(y, 1))), from);
  }
  return x * log(from);
}
Tensor copysign(const Arg& a, const Arg& b) {
  Composite composite("copysign", a.where);
  auto [x, y] = promoted_floats("copysign", a, b);
  // At 0 the gradient is 0.
  Tensor v = differentiated(x) ? where(eq(x, 0), x.detach(), x) : x;
  return where(signbit(y) ^ signbit(x), neg(v), v);
}
Tensor heaviside(const Arg& a, const Arg& b) {
  Composite composite("heaviside", a.where);
  auto [x, y] = promoted("heaviside", a, b);
  return where(eq(x, 0), y, gt(x, 0).to(x.dtype()));  // 0 of NaN
}
Tensor ldexp(const Arg& a, const Arg& b) {
  Composite composite("ldexp", a.where);
  auto [x, y] = promoted_floats("ldexp", a, b);
  return x * exp2(y);
}

Tensor eq(const Arg& a, const Arg& b) { return compare(OpId::kEqual, "eq", a, b); }
Tensor ne(const Arg& a, const Arg& b) {
  return logical_not({compare(OpId::kEqual, "ne", a, b), a.where});
}
Tensor lt(const Arg& a, const Arg& b) { return compare(OpId::kLess, "lt", a, b); }
Tensor le(const Arg& a, const Arg& b) { return compare(OpId::kLessOrEqual, "le", a, b); }
Tensor gt(const Arg& a, const Arg& b) { return compare(OpId::kGreater, "gt", a, b); }
Tensor ge(const Arg& a, const Arg& b) { return compare(OpId::kGreaterOrEqual, "ge", a, b); }
Tensor logical_and(const Arg& a, const Arg& b) { return logical(OpId::kAnd, "logical_and", a, b); }
Tensor logical_or(const Arg& a, const Arg& b) { return logical(OpId::kOr, "logical_or", a, b); }
Tensor logical_xor(const Arg& a, const Arg& b) { return logical(OpId::kXor, "logical_xor", a, b); }
Tensor logical_not(const Arg& a) {
  return call(OpId::kNot, NoAttrs{}, {{a.tensor.to(DType::kBool, a.where), a.where}});
}

Tensor bitwise_and(const Arg& a, const Arg& b) {
  return bitwise(OpId::kBitwiseAnd, OpId::kAnd, "bitwise_and", a, b);
}
Tensor bitwise_or(const Arg& a, const Arg& b) {
  return bitwise(OpId::kBitwiseOr, OpId::kOr, "bitwise_or", a, b);
}
Tensor bitwise_xor(const Arg& a, const Arg& b) {
  return bitwise(OpId::kBitwiseXor, OpId::kXor, "bitwise_xor", a, b);
}
Tensor bitwise_not(const Arg& a) {
  return is_bool(a) ? logical_not(a) : call(OpId::kBitwiseNot, NoAttrs{}, {a});
}
Tensor bitwise_left_shift(const Arg& a, const Arg& b) {
  return shift(false, "bitwise_left_shift", a, b);
}
Tensor bitwise_right_shift(const Arg& a, const Arg& b) {
  return shift(true, "bitwise_right_shift", a, b);
}

// Euclid's algorithm on all elements at once: it takes as many rounds as the slowest needs, so the
// values are read.
Tensor gcd(const Arg& a, const Arg& b) {
  Composite composite("gcd", a.where);
  auto [x, y] = promoted("gcd", a, b);
  if (!is_int(x.dtype())) {
    throw_error("gcd", std::string("needs integers, got ") + dtype_name(x.dtype()), a.where,
                Code::kTypeMismatch);
  }
  Tensor zero = constant(x, 0);
  x = x + zeros_like(y);  // gives both the broadcast shape
  y = y + zeros_like(x);
  while (any(ne(y, 0)).item(a.where) != 0) {
    Tensor rest = call(OpId::kMod, ModAttrs{1}, {x, y});
    Tensor done = eq(y, 0);
    x = where(done, x, y);
    y = where(done, zero, rest);
  }
  return abs(x);
}
Tensor lcm(const Arg& a, const Arg& b) {
  Composite composite("lcm", a.where);
  auto [x, y] = promoted("lcm", a, b);
  Tensor common = gcd({x, a.where}, {y, b.where});
  Tensor divisor = where(eq(common, 0), constant(common, 1), common);
  return abs(call(OpId::kDiv, NoAttrs{}, {x, divisor}) * y);
}

Tensor multiply(const Arg& a, const Arg& b) { return mul(a, b); }
Tensor divide(const Arg& a, const Arg& b) { return div(a, b); }
Tensor true_divide(const Arg& a, const Arg& b) { return div(a, b); }
Tensor arctan2(const Arg& a, const Arg& b) { return atan2(a, b); }
Tensor not_equal(const Arg& a, const Arg& b) { return ne(a, b); }
Tensor less(const Arg& a, const Arg& b) { return lt(a, b); }
Tensor less_equal(const Arg& a, const Arg& b) { return le(a, b); }
Tensor greater(const Arg& a, const Arg& b) { return gt(a, b); }
Tensor greater_equal(const Arg& a, const Arg& b) { return ge(a, b); }

Tensor pow(Scalar a, const Arg& b) { return pow(Arg(scalar_like(b, a), b.where), b); }
// All other functions of two operands, with a C++ number.
#define X(f)                                                                         \
  Tensor f(const Arg& a, Scalar b) { return f(a, Arg(scalar_like(a, b), a.where)); } \
  Tensor f(Scalar a, const Arg& b) { return f(Arg(scalar_like(b, a), b.where), b); }
WICK_BINARY_OPS(X)
#undef X

#define X(op, f)                                                     \
  Tensor operator op(const Arg& a, const Arg& b) { return f(a, b); } \
  Tensor operator op(const Arg& a, Scalar b) { return f(a, b); }     \
  Tensor operator op(Scalar a, const Arg& b) { return f(Arg(scalar_like(b, a), b.where), b); }
WICK_OPERATORS(X)
#undef X
namespace {
// A bool keeps the dtype of the other operand, so that it does not meet sub()'s own check.
void refuse_bool_minus(OpId op, Scalar number, const Where& where) {
  if (op == OpId::kSub && number.boolean) refuse_bool("sub", kNoBoolMinus, where);
}
}  // namespace
#define X(op, f, Id)                                        \
  Tensor operator op(Arg&& a, Arg&& b) {                    \
    Tensor made = detail::reuse(OpId::Id, a, b);            \
    return made.defined() ? made : f(a, b);                 \
  }                                                         \
  Tensor operator op(Arg&& a, Scalar b) {                   \
    refuse_bool_minus(OpId::Id, b, a.where);                \
    return std::move(a) op Arg(scalar_like(a, b), a.where); \
  }                                                         \
  Tensor operator op(Scalar a, Arg&& b) {                   \
    refuse_bool_minus(OpId::Id, a, b.where);                \
    return Arg(scalar_like(b, a), b.where) op std::move(b); \
  }
WICK_REUSING_OPERATORS(X)
#undef X
Tensor operator-(const Arg& a) { return neg(a); }
Tensor operator~(const Arg& a) { return bitwise_not(a); }

Tensor where(const Arg& condition, const Arg& a, const Arg& b) {
  need_defined("where", {condition, a, b});
  auto [x, y] = promoted("where", a, b);
  if (condition.tensor.dtype() == DType::kU8) {  // PyTorch's masks before there was bool
    return where({condition.tensor.to(DType::kBool, condition.where), condition.where}, x, y);
  }
  return call(OpId::kWhere, NoAttrs{}, {condition, {x, a.where}, {y, b.where}});
}
Tensor where(const Arg& condition, const Arg& a, Scalar b) {
  return where(condition, a, Arg(scalar_like(a, b), a.where));
}
Tensor where(const Arg& condition, Scalar a, const Arg& b) {
  return where(condition, Arg(scalar_like(b, a), b.where), b);
}
Tensor where(const Arg& condition, Scalar a, Scalar b) {
  const bool whole = a.integral && b.integral, bools = a.boolean && b.boolean;
  const DType dtype = bools ? DType::kBool : whole ? DType::kI64 : DType::kF32;
  const Tensor x = full({}, a, dtype, condition.where), y = full({}, b, dtype, condition.where);
  return where(condition, Arg(x, condition.where), Arg(y, condition.where));
}

// Computed from the nearer end, so that both ends are exact.
Tensor lerp(const Arg& a, const Arg& b, Scalar weight) {
  Composite composite("lerp", a.where);
  auto [x, y] = promoted_floats("lerp", a, b);
  Tensor step = y - x;
  return weight.value < 0.5 ? x + step * weight : y - step * (1 - weight.value);
}
Tensor lerp(const Arg& a, const Arg& b, const Arg& weight) {
  Composite composite("lerp", a.where);
  auto [x, y] = promoted_floats("lerp", a, b);
  Tensor step = y - x;
  return where(lt(weight, 0.5), x + step * weight, y - step * (1 - weight));
}
Tensor addcmul(const Arg& x, const Arg& a, const Arg& b, Scalar value) {
  Composite composite("addcmul", x.where);
  return add(x, mul(a, b), value);
}
Tensor addcdiv(const Arg& x, const Arg& a, const Arg& b, Scalar value) {
  Composite composite("addcdiv", x.where);
  if (category(a.tensor.dtype()) < 2 && category(b.tensor.dtype()) < 2) {
    throw_error("addcdiv",
                std::string("integer division is not supported here (") +
                    dtype_name(a.tensor.dtype()) + " by " + dtype_name(b.tensor.dtype()) +
                    "): make a or b a float",
                x.where, Code::kTypeMismatch);
  }
  return add(x, div(a, b), value);
}

Tensor isclose(const Arg& a, const Arg& b, double rtol, double atol, bool equal_nan) {
  Composite composite("isclose", a.where);
  need_defined("isclose", {a, b});
  const Tensor &x = a.tensor, &y = b.tensor;
  if (x.dtype() != y.dtype()) {
    throw_error("isclose",
                std::string("needs two tensors of one dtype, got ") + dtype_name(x.dtype()) +
                    " and " + dtype_name(y.dtype()),
                a.where, Code::kTypeMismatch);
  }
  if (rtol < 0 || atol < 0) throw_error("isclose", "tolerances must not be negative", a.where);
  Tensor same = eq(x, y);
  if (is_float(x.dtype()) && equal_nan) same = logical_or(same, logical_and(ne(x, x), ne(y, y)));
  if (x.dtype() == DType::kBool || (rtol == 0 && atol == 0)) return same;
  Tensor p = as_float(x), q = as_float(y);
  Tensor near = le(abs(p - q), abs(q) * rtol + atol);
  return logical_or(same, logical_and(near, isfinite(q)));
}
bool allclose(const Arg& a, const Arg& b, double rtol, double atol, bool equal_nan) {
  return all({isclose(a, b, rtol, atol, equal_nan), a.where}).item(a.where) != 0;
}
bool equal(const Arg& a, const Arg& b) {
  need_defined("equal", {a, b});
  if (a.tensor.dtype() != b.tensor.dtype()) {
    throw_error("equal",
                std::string("needs two tensors of one dtype, got ") + dtype_name(a.tensor.dtype()) +
                    " and " + dtype_name(b.tensor.dtype()),
                a.where, Code::kTypeMismatch);
  }
  if (!(a.tensor.raw_shape() == b.tensor.raw_shape())) return false;
  return all({eq(a, b), a.where}).item(a.where) != 0;
}

}  // namespace wick
