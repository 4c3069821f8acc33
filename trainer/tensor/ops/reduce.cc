#include "trainer/tensor/internal.h"
#include "trainer/tensor/ops.h"

namespace wick {
namespace {

Tensor reduce(OpId op, const Arg& x, Dims dims, bool keepdim) {
  ReduceAttrs a;
  for (int64_t i = 0; i < dims.count; ++i) {
    dims.values[i] = wrap_dim(display_name(op).c_str(), dims[i], x.tensor.rank(), x.where);
  }
  a.axes = dims;
  a.keepdims = keepdim ? 1 : 0;
  return call(op, a, {x});
}

}  // namespace

Tensor sum(const Arg& x, Dims dims, bool keepdim) {
  // PyTorch sums integers in int64.
  DType t = x.tensor.dtype();
  if (is_float(t) || t == DType::kI64) return reduce(OpId::kReduceSum, x, dims, keepdim);
  return reduce(OpId::kReduceSum, {x.tensor.to(DType::kI64, x.where), x.where}, dims, keepdim);
}
Tensor mean(const Arg& x, Dims dims, bool keepdim) {
  if (!is_float(x.tensor.dtype())) {
    throw_error("mean",
                std::string("needs a floating-point tensor, got ") + dtype_name(x.tensor.dtype()),
                x.where, Code::kTypeMismatch);
  }
  return reduce(OpId::kReduceMean, x, dims, keepdim);
}
Tensor amax(const Arg& x, Dims dims, bool keepdim) {
  return reduce(OpId::kReduceMax, x, dims, keepdim);
}
Tensor amin(const Arg& x, Dims dims, bool keepdim) {
  return reduce(OpId::kReduceMin, x, dims, keepdim);
}
Tensor prod(const Arg& x, Dims dims, bool keepdim) {
  return reduce(OpId::kReduceProd, x, dims, keepdim);
}
Tensor max(const Arg& x) { return amax(x); }
Tensor min(const Arg& x) { return amin(x); }

Tensor argmax(const Arg& x, int dim, bool keepdim) {
  return call(OpId::kArgMax, ArgAttrs{dim, keepdim ? 1 : 0, 0}, {x});
}
Tensor argmin(const Arg& x, int dim, bool keepdim) {
  return call(OpId::kArgMin, ArgAttrs{dim, keepdim ? 1 : 0, 0}, {x});
}

}  // namespace wick
