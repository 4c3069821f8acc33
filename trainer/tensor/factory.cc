#include <cstring>

#include "runtime/core/half.h"
#include "trainer/tensor/internal.h"
#include "trainer/tensor/ops/creation.h"

namespace wick {
namespace {

// Calls f(T()) with the C++ type of a dtype that tensors can have.
template <class F>
void with_type(DType t, const char* op, const Where& where, const F& f) {
  switch (t) {
    case DType::kF32: return f(float());
    case DType::kF64: return f(double());
    case DType::kF16: return f(Half());
    case DType::kBF16: return f(BFloat16());
    case DType::kI64: return f(int64_t());
    case DType::kI32: return f(int32_t());
    case DType::kI16: return f(int16_t());
    case DType::kI8: return f(int8_t());
    case DType::kU64: return f(uint64_t());
    case DType::kU32: return f(uint32_t());
    case DType::kU16: return f(uint16_t());
    case DType::kU8: return f(uint8_t());
    case DType::kBool: return f(bool());
    default:
      throw_error(op, std::string("cannot make a tensor of ") + dtype_name(t), where,
                  Code::kTypeMismatch);
  }
}

template <class T>
T convert(const Scalar& s) {
  if constexpr (std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>) {
    return T(static_cast<float>(s.value));
  } else if constexpr (std::is_same_v<T, bool>) {
    return s.value != 0;
  } else if constexpr (std::is_integral_v<T>) {
    return static_cast<T>(s.int_value);
  } else {
    return static_cast<T>(s.value);
  }
}

}  // namespace

Tensor empty(const SizeList& shape, DType dtype, Where where) {
  return new_tensor(shape, dtype, where);
}

Tensor zeros(const SizeList& shape, DType dtype, Where where) {
  Tensor t = new_tensor(shape, dtype, where);
  memset(t.raw().data, 0, t.layout().nbytes());
  return t;
}

Tensor full(const SizeList& shape, Scalar value, DType dtype, Where where) {
  Tensor t = new_tensor(shape, dtype, where);
  with_type(dtype, "full", where, [&](auto zero) {
    using T = decltype(zero);
    std::fill_n(t.raw().as<T>(), t.layout().numel(), convert<T>(value));
  });
  return t;
}
Tensor ones(const SizeList& shape, DType dtype, Where where) {
  return full(shape, 1, dtype, where);
}

Tensor arange(SizeArg start, SizeArg end, SizeArg step, DType dtype, Where where) {
  if (step == 0) throw_error("arange", "step must not be 0", where);
  int64_t n = step > 0 ? (end - start + step - 1) / step : (start - end - step - 1) / -step;
  Tensor t = new_tensor({n > 0 ? n : 0}, dtype, where);
  with_type(dtype, "arange", where, [&](auto zero) {
    using T = decltype(zero);
    for (int64_t i = 0; i < n; ++i) t.raw().as<T>()[i] = convert<T>(start + i * step);
  });
  return t;
}
Tensor arange(SizeArg end, DType dtype, Where where) { return arange(0, end, 1, dtype, where); }

Tensor eye(SizeArg n, DType dtype, Where where) {
  Tensor t = zeros({n, n}, dtype, where);
  with_type(dtype, "eye", where, [&](auto zero) {
    using T = decltype(zero);
    for (int64_t i = 0; i < n; ++i) t.raw().as<T>()[i * (n + 1)] = convert<T>(1);
  });
  return t;
}

Tensor empty_like(const Arg& t) { return empty_like(t, t.tensor.dtype()); }
Tensor zeros_like(const Arg& t) { return zeros_like(t, t.tensor.dtype()); }
Tensor ones_like(const Arg& t) { return full_like(t, 1); }
Tensor full_like(const Arg& t, Scalar value) { return full_like(t, value, t.tensor.dtype()); }

Tensor from_blob(const void* data, const Shape& shape, DType dtype, Where where) {
  Tensor t = new_tensor(shape, dtype, where);
  if (t.layout().nbytes() > 0) memcpy(t.raw().data, data, t.layout().nbytes());
  return t;
}

}  // namespace wick
