#include "trainer/tensor/promote.h"

#include <cmath>

namespace wick {
namespace {

bool is_wide_unsigned(DType t) { return is_unsigned_int(t) && t != DType::kU8; }
DType dtype_of_number(Scalar s) {
  return s.boolean ? DType::kBool : s.integral ? DType::kI64 : DType::kF32;
}

DType promote(DType a, DType b, const char* op, const Where& where) {
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
  if (!is_wide_unsigned(u)) return DType::kI16;  // uint8 with int8
  throw_error(op,
              std::string("promotion of ") + dtype_name(a) + " with " + dtype_name(b) +
                  " is not defined: cast one",
              where, Code::kTypeMismatch);
}

}  // namespace

DType promote_types(DType a, DType b, Where where) { return promote(a, b, "promote_types", where); }

DType result_type(const Tensor& a, const Tensor& b, const char* op, const Where& where) {
  bool scalar_a = a.rank() == 0, scalar_b = b.rank() == 0;
  if (scalar_a == scalar_b) return promote(a.dtype(), b.dtype(), op, where);
  const Tensor &dims = scalar_a ? b : a, &zero = scalar_a ? a : b;
  return category(zero.dtype()) > category(dims.dtype()) ? zero.dtype() : dims.dtype();
}
DType result_type(const Tensor& a, const Tensor& b, Where where) {
  return result_type(a, b, "result_type", where);
}
DType result_type(const Tensor& a, Scalar b) {
  DType t = dtype_of_number(b);
  return category(t) > category(a.dtype()) ? t : a.dtype();
}
DType result_type(Scalar a, const Tensor& b) { return result_type(b, a); }
DType result_type(Scalar a, Scalar b) {
  DType t = dtype_of_number(a), u = dtype_of_number(b);
  return category(t) > category(u) ? t : u;
}

bool can_cast(DType from, DType to) { return category(from) <= category(to); }

const char* type_name(DType t) {
  switch (t) {
    case DType::kF32: return "FloatTensor";
    case DType::kF64: return "DoubleTensor";
    case DType::kF16: return "HalfTensor";
    case DType::kBF16: return "BFloat16Tensor";
    case DType::kI64: return "LongTensor";
    case DType::kI32: return "IntTensor";
    case DType::kI16: return "ShortTensor";
    case DType::kI8: return "CharTensor";
    case DType::kU8: return "ByteTensor";
    case DType::kU16: return "UInt16Tensor";
    case DType::kU32: return "UInt32Tensor";
    case DType::kU64: return "UInt64Tensor";
    case DType::kBool: return "BoolTensor";
    default: return "Tensor";
  }
}
const char* type_name(const Tensor& t) { return t.defined() ? type_name(t.dtype()) : "undefined"; }

FloatInfo finfo(DType t, Where where) {
  struct Form {
    int digits, max_exponent, min_exponent;  // significant bits; max < 2^max_exponent
    double resolution;
  } f{};
  switch (t) {
    case DType::kF32: f = {24, 128, -126, 1e-6}; break;
    case DType::kF64: f = {53, 1024, -1022, 1e-15}; break;
    case DType::kF16: f = {11, 16, -14, 1e-3}; break;
    case DType::kBF16: f = {8, 128, -126, 1e-2}; break;
    default:
      throw_error("finfo", std::string(dtype_name(t)) + " is no floating-point dtype: use iinfo",
                  where, Code::kTypeMismatch);
  }
  double max = std::ldexp(1 - std::ldexp(1.0, -f.digits), f.max_exponent);
  return {dtype_bits(t), std::ldexp(1.0, 1 - f.digits),   max,
          -max,          std::ldexp(1.0, f.min_exponent), f.resolution};
}

IntInfo iinfo(DType t, Where where) {
  if (!is_int(t)) {
    throw_error("iinfo", std::string(dtype_name(t)) + " is no integer dtype: use finfo", where,
                Code::kTypeMismatch);
  }
  int bits = dtype_bits(t);
  if (is_unsigned_int(t)) return {bits, 0, ~uint64_t{0} >> (64 - bits)};
  return {bits, INT64_MIN >> (64 - bits), static_cast<uint64_t>(INT64_MAX >> (64 - bits))};
}

}  // namespace wick
