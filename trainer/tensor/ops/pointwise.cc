#include "trainer/tensor/ops/pointwise.h"

#include <cstring>

#include "runtime/kernels/elementwise/elementwise.h"

namespace wick::pointwise {

Tensor scalar_like(const Arg& like, Scalar s) {
  DType t = like.tensor.dtype();
  int c = s.boolean ? 0 : s.integral ? 1 : 2;
  if (c > category(t)) t = c == 1 ? DType::kI64 : DType::kF32;
  return full({}, s, t, like.where);
}

Tensor as_float(const Arg& a) {
  return is_float(a.tensor.dtype()) ? a.tensor : a.tensor.to(DType::kF32, a.where);
}

void need_defined(const char* name, std::initializer_list<Arg> args) {
  const CallSite* site = modes().site;  // the public function that is running
  for (const Arg& a : args) {
    if (a.tensor.defined()) continue;
    throw_error(site != nullptr ? site->name : name, "an operand is undefined",
                site != nullptr ? site->where : a.where);
  }
}

std::pair<Tensor, Tensor> promoted(const char* name, const Arg& a, const Arg& b) {
  need_defined(name, {a, b});
  if (a.tensor.dtype() == b.tensor.dtype()) return {a.tensor, b.tensor};
  DType t = result_type(a.tensor, b.tensor, name, a.where);
  return {a.tensor.to(t, a.where), b.tensor.to(t, b.where)};
}
std::pair<Tensor, Tensor> promoted_floats(const char* name, const Arg& a, const Arg& b) {
  auto [x, y] = promoted(name, a, b);
  if (is_float(x.dtype())) return {x, y};
  return {x.to(DType::kF32, a.where), y.to(DType::kF32, b.where)};
}

void refuse_bool(const char* name, const char* why, const Where& where) {
  const CallSite* site = modes().site;  // the public function that is running
  throw_error(site != nullptr ? site->name : name, why, site != nullptr ? site->where : where,
              Code::kTypeMismatch);
}

void need_divisor(const char* name, const Tensor& divisor, const Where& where) {
  if (!is_int(divisor.dtype())) return;
  const Tensor own = divisor.detach().cpu(where);
  const TensorView& v = own.layout();
  const size_t size = dtype_size(v.dtype);
  const char* data = v.as<char>();
  bool zero = false;
  ElementLoop<1> loop(TensorView(nullptr, v.dtype, v.shape), &v);
  loop.rows(0, loop.total, [&](int64_t, int64_t n, const int64_t* offset) {
    static constexpr char kZero[8] = {};
    const int64_t step = loop.stride[0][loop.rank - 1];
    for (int64_t i = 0; i < n && !zero; ++i) {
      const int64_t at = (offset[0] + i * step) * static_cast<int64_t>(size);
      zero = memcmp(data + at, kZero, size) == 0;
    }
  });
  if (zero) {
    throw_error(name,
                "integer division by zero: the divisor " + std::string(to_text(v.shape).text) +
                    " holds a 0 (floats would give inf)",
                where);
  }
}

}  // namespace wick::pointwise
