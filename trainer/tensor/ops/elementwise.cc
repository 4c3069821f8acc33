#include "trainer/tensor/internal.h"
#include "trainer/tensor/ops.h"
#include "trainer/tensor/promote.h"

namespace wick {
namespace {

int category(DType t) { return t == DType::kBool ? 0 : is_int(t) ? 1 : 2; }

// A number as a tensor beside `like`, in the dtype the two share.
Tensor scalar_like(const Tensor& like, Scalar s) {
  DType t = like.dtype();
  int c = s.integral ? 1 : 2;
  if (c > category(t)) t = s.integral ? DType::kI64 : DType::kF32;
  return full({}, s, t);
}

Tensor binary(OpId op, const Arg& a, const Arg& b) {
  if (!a.tensor.defined() || !b.tensor.defined())
    throw_error(display_name(op), "an operand is undefined", a.where);
  if (a.tensor.dtype() == b.tensor.dtype()) return call(op, NoAttrs{}, {a, b});
  DType t = result_type(a.tensor, b.tensor);
  return call(op, NoAttrs{},
              {{a.tensor.to(t, a.where), a.where}, {b.tensor.to(t, b.where), b.where}});
}
Tensor binary(OpId op, const Arg& a, Scalar b) {
  return binary(op, a, Arg(scalar_like(a.tensor, b), a.where));
}
Tensor binary(OpId op, Scalar a, const Arg& b) {
  return binary(op, Arg(scalar_like(b.tensor, a), b.where), b);
}

// Division and the like make floats of integers.
Tensor as_float(const Arg& a) {
  return is_float(a.tensor.dtype()) ? a.tensor : a.tensor.to(DType::kF32, a.where);
}

Tensor logical(OpId op, const Arg& a, const Arg& b) {
  return call(op, NoAttrs{},
              {{a.tensor.to(DType::kBool, a.where), a.where},
               {b.tensor.to(DType::kBool, b.where), b.where}});
}

}  // namespace

DType promote(DType a, DType b) {
  if (a == b) return a;
  int ca = category(a), cb = category(b);
  if (ca != cb) return ca > cb ? a : b;
  if (ca == 2) {
    if (dtype_bits(a) == 16 && dtype_bits(b) == 16) return DType::kF32;  // float16 with bfloat16
    return dtype_bits(a) > dtype_bits(b) ? a : b;
  }
  if (is_unsigned_int(a) == is_unsigned_int(b)) return dtype_bits(a) > dtype_bits(b) ? a : b;
  DType s = is_unsigned_int(a) ? b : a, u = is_unsigned_int(a) ? a : b;
  if (dtype_bits(s) > dtype_bits(u)) return s;
  return dtype_bits(u) == 8 ? DType::kI16 : dtype_bits(u) == 16 ? DType::kI32 : DType::kI64;
}

DType result_type(const Tensor& a, const Tensor& b) {
  bool scalar_a = a.rank() == 0, scalar_b = b.rank() == 0;
  if (scalar_a == scalar_b) return promote(a.dtype(), b.dtype());
  const Tensor &dims = scalar_a ? b : a, &zero = scalar_a ? a : b;
  return category(zero.dtype()) > category(dims.dtype()) ? zero.dtype() : dims.dtype();
}

Tensor add(const Arg& a, const Arg& b) { return binary(OpId::kAdd, a, b); }
Tensor sub(const Arg& a, const Arg& b) { return binary(OpId::kSub, a, b); }
Tensor mul(const Arg& a, const Arg& b) { return binary(OpId::kMul, a, b); }
Tensor div(const Arg& a, const Arg& b) {
  if (category(a.tensor.dtype()) == 2 || category(b.tensor.dtype()) == 2)
    return binary(OpId::kDiv, a, b);
  return binary(OpId::kDiv, {as_float(a), a.where}, {as_float(b), b.where});
}
Tensor pow(const Arg& a, const Arg& b) { return binary(OpId::kPow, a, b); }
Tensor pow(const Arg& a, Scalar b) { return binary(OpId::kPow, a, b); }
Tensor maximum(const Arg& a, const Arg& b) { return binary(OpId::kMax, a, b); }
Tensor minimum(const Arg& a, const Arg& b) { return binary(OpId::kMin, a, b); }

Tensor operator+(const Arg& a, const Arg& b) { return add(a, b); }
Tensor operator-(const Arg& a, const Arg& b) { return sub(a, b); }
Tensor operator*(const Arg& a, const Arg& b) { return mul(a, b); }
Tensor operator/(const Arg& a, const Arg& b) { return div(a, b); }
Tensor operator+(const Arg& a, Scalar b) { return binary(OpId::kAdd, a, b); }
Tensor operator-(const Arg& a, Scalar b) { return binary(OpId::kSub, a, b); }
Tensor operator*(const Arg& a, Scalar b) { return binary(OpId::kMul, a, b); }
Tensor operator/(const Arg& a, Scalar b) {
  return binary(OpId::kDiv, Arg(as_float(a), a.where), b);
}
Tensor operator+(Scalar a, const Arg& b) { return binary(OpId::kAdd, a, b); }
Tensor operator-(Scalar a, const Arg& b) { return binary(OpId::kSub, a, b); }
Tensor operator*(Scalar a, const Arg& b) { return binary(OpId::kMul, a, b); }
Tensor operator/(Scalar a, const Arg& b) {
  return binary(OpId::kDiv, a, Arg(as_float(b), b.where));
}
Tensor operator-(const Arg& a) { return neg(a); }

Tensor eq(const Arg& a, const Arg& b) { return binary(OpId::kEqual, a, b); }
Tensor ne(const Arg& a, const Arg& b) { return logical_not({eq(a, b), a.where}); }
Tensor lt(const Arg& a, const Arg& b) { return binary(OpId::kLess, a, b); }
Tensor le(const Arg& a, const Arg& b) { return binary(OpId::kLessOrEqual, a, b); }
Tensor gt(const Arg& a, const Arg& b) { return binary(OpId::kGreater, a, b); }
Tensor ge(const Arg& a, const Arg& b) { return binary(OpId::kGreaterOrEqual, a, b); }
Tensor eq(const Arg& a, Scalar b) { return binary(OpId::kEqual, a, b); }
Tensor ne(const Arg& a, Scalar b) { return logical_not({eq(a, b), a.where}); }
Tensor lt(const Arg& a, Scalar b) { return binary(OpId::kLess, a, b); }
Tensor le(const Arg& a, Scalar b) { return binary(OpId::kLessOrEqual, a, b); }
Tensor gt(const Arg& a, Scalar b) { return binary(OpId::kGreater, a, b); }
Tensor ge(const Arg& a, Scalar b) { return binary(OpId::kGreaterOrEqual, a, b); }
Tensor logical_and(const Arg& a, const Arg& b) { return logical(OpId::kAnd, a, b); }
Tensor logical_or(const Arg& a, const Arg& b) { return logical(OpId::kOr, a, b); }
Tensor logical_xor(const Arg& a, const Arg& b) { return logical(OpId::kXor, a, b); }
Tensor logical_not(const Arg& a) {
  return call(OpId::kNot, NoAttrs{}, {{a.tensor.to(DType::kBool, a.where), a.where}});
}

Tensor where(const Arg& condition, const Arg& a, const Arg& b) {
  DType t = result_type(a.tensor, b.tensor);
  Tensor x = a.tensor.to(t, a.where), y = b.tensor.to(t, b.where);
  return call(OpId::kWhere, NoAttrs{}, {condition, {x, a.where}, {y, b.where}});
}

#define X(function, Name) \
  Tensor function(const Arg& x) { return call(OpId::k##Name, NoAttrs{}, {x}); }
WICK_UNARY_OPS(X)
#undef X

Tensor leaky_relu(const Arg& x, double slope) {
  return call(OpId::kLeakyRelu, LeakyReluAttrs{slope}, {x});
}
Tensor elu(const Arg& x, double alpha) { return call(OpId::kElu, EluAttrs{alpha}, {x}); }
Tensor gelu(const Arg& x, bool tanh) { return call(OpId::kGelu, GeluAttrs{tanh ? 1 : 0}, {x}); }
Tensor hardsigmoid(const Arg& x) {
  return call(OpId::kHardSigmoid, HardSigmoidAttrs{1.0 / 6, 0.5}, {x});
}
Tensor clamp(const Arg& x, double min, double max) {
  return call(OpId::kClip, ClipAttrs{min, max}, {x});
}
Tensor relu6(const Arg& x) { return clamp(x, 0, 6); }
Tensor square(const Arg& x) { return mul(x, x); }

}  // namespace wick
