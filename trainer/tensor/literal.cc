#include "trainer/tensor/literal.h"

#include <algorithm>

namespace wick::detail {

Tensor literal(const void* data, DType from, const Levels& levels, DType dtype,
               const Where& where) {
  Shape shape;
  for (const int64_t n : levels.size) {
    if (n < 0) break;
    shape.push_back(n);
  }
  const Tensor made = from_blob(data, shape, from, where);
  if (from == dtype) return made;
  NoGrad guard;
  TracerScope untraced(nullptr);
  return made.to(dtype, where);
}

Tensor literal(const std::vector<Literal>& values, const Levels& levels, const TensorAs& as) {
  auto any = [&](DType t) {
    return std::any_of(values.begin(), values.end(),
                       [&](const Literal& v) { return v.dtype == t; });
  };
  const DType dtype = as.dtype.value_or(any(DType::kF32) || values.empty() ? DType::kF32
                                        : any(DType::kI64)                 ? DType::kI64
                                                                           : DType::kBool);
  if (any(DType::kF32)) {
    std::vector<double> numbers;
    for (const Literal& v : values) numbers.push_back(v.value);
    return literal(numbers.data(), DType::kF64, levels, dtype, as.where);
  }
  std::vector<int64_t> numbers;
  for (const Literal& v : values) numbers.push_back(v.whole);
  return literal(numbers.data(), DType::kI64, levels, dtype, as.where);
}

void ragged(const Where& where) {
  throw_error("tensor", "lists of one level differ in length", where, Code::kShapeMismatch);
}

}  // namespace wick::detail
