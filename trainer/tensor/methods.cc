// The definitions for methods.def and ops/inplace.h.
#include "trainer/tensor/inplace.h"
#include "trainer/tensor/internal.h"
#include "trainer/tensor/ops.h"

namespace wick {

#define WICK_OR(...)
#define WICK_UNWRAP(...) __VA_OPT__(, ) __VA_ARGS__

#define WICK_METHOD(Result, name, arguments, ...)                     \
  Result Tensor::name(__VA_ARGS__ __VA_OPT__(, ) Where where) const { \
    return wick::name(Arg(*this, where) WICK_UNWRAP arguments);       \
  }
#define WICK_INPLACE(name, arguments, ...)                                                  \
  const Tensor& name##_(const Arg& x __VA_OPT__(, ) __VA_ARGS__) {                          \
    return in_place(#name "_", x,                                                           \
                    [&](const Arg& old) { return wick::name(old WICK_UNWRAP arguments); }); \
  }                                                                                         \
  const Tensor& Tensor::name##_(__VA_ARGS__ __VA_OPT__(, ) Where where) const {             \
    wick::name##_(Arg(*this, where) WICK_UNWRAP arguments);                                 \
    return *this;                                                                           \
  }
#include "trainer/tensor/methods.def"

const Tensor& add_(const Arg& x, const Arg& other, Scalar alpha) {
  return x.tensor.add_(other.tensor, alpha, x.where);
}
const Tensor& sub_(const Arg& x, const Arg& other, Scalar alpha) {
  return x.tensor.sub_(other.tensor, alpha, x.where);
}
const Tensor& mul_(const Arg& x, const Arg& other) { return x.tensor.mul_(other.tensor, x.where); }
const Tensor& div_(const Arg& x, const Arg& other) { return x.tensor.div_(other.tensor, x.where); }
const Tensor& add_(const Arg& x, Scalar other) { return x.tensor.add_(other, x.where); }
const Tensor& sub_(const Arg& x, Scalar other) { return x.tensor.sub_(other, x.where); }
const Tensor& mul_(const Arg& x, Scalar other) { return x.tensor.mul_(other, x.where); }
const Tensor& div_(const Arg& x, Scalar other) { return x.tensor.div_(other, x.where); }
const Tensor& fill_(const Arg& x, Scalar value) { return x.tensor.fill_(value, x.where); }
const Tensor& zero_(const Arg& x) { return x.tensor.zero_(x.where); }

#define X(op, f)                                                            \
  const Tensor& operator op(const Arg& x, const Arg& b) { return f(x, b); } \
  const Tensor& operator op(const Arg& x, Scalar b) { return f(x, b); }
WICK_INPLACE_OPERATORS(X)
#undef X

}  // namespace wick
