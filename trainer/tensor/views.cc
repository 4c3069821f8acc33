// Views. Shapes are passed on in a form that keeps a dynamic batch symbolic under capture where
// that is possible: 0 copies a dimension, -1 takes the rest.
#include "trainer/tensor/internal.h"
#include "trainer/tensor/ops.h"
#include "trainer/tensor/view_rule.h"

namespace wick {

Tensor Tensor::reshape(const Shape& shape, Where where) const {
  ReshapeAttrs a;
  a.shape = DimList(shape.dims());
  // A 0 in a user's shape is an empty dimension, not ONNX's "copy".
  for (int64_t d : shape) a.allowzero = a.allowzero != 0 || d == 0 ? 1 : 0;
  return call(OpId::kReshape, a, {{*this, where}});
}

Tensor Tensor::view(const Shape& shape, Where where) const {
  Tensor r = reshape(shape, where);
  if (r.impl()->storage == impl_->storage) return r;
  throw_error("view",
              std::string("the strides of ") + to_text(raw_shape()).text + " do not allow " +
                  to_text(shape).text + " without a copy: use reshape()",
              where, Code::kShapeMismatch);
}

Tensor Tensor::permute(std::initializer_list<int64_t> axes, Where where) const {
  TransposeAttrs a;
  if (static_cast<int>(axes.size()) != rank()) {
    throw_error("permute",
                "needs " + std::to_string(rank()) + " axes, got " + std::to_string(axes.size()),
                where);
  }
  for (int64_t axis : axes)
    a.perm.values[a.perm.count++] = wrap_dim("permute", axis, rank(), where);
  return call(OpId::kTranspose, a, {{*this, where}});
}

Tensor Tensor::transpose(int d0, int d1, Where where) const {
  d0 = wrap_dim("transpose", d0, rank(), where);
  d1 = wrap_dim("transpose", d1, rank(), where);
  TransposeAttrs a;
  for (int i = 0; i < rank(); ++i) a.perm.values[a.perm.count++] = i == d0 ? d1 : i == d1 ? d0 : i;
  if (rank() == 0) return *this;
  return call(OpId::kTranspose, a, {{*this, where}});
}
Tensor Tensor::t(Where where) const {
  if (rank() != 2)
    throw_error("t", "needs a matrix, got rank " + std::to_string(rank()), where,
                Code::kShapeMismatch);
  return transpose(0, 1, where);
}

Tensor Tensor::slice(int dim, int64_t start, int64_t end, int64_t step, Where where) const {
  int d = wrap_dim("slice", dim, rank(), where);
  return call(OpId::kSlice, SliceAttrs{{start}, {end}, {d}, {step}}, {{*this, where}});
}
Tensor Tensor::narrow(int dim, int64_t start, int64_t length, Where where) const {
  int d = wrap_dim("narrow", dim, rank(), where);
  if (start < 0 || length < 0 || start + length > raw_shape()[d]) {
    throw_error("narrow",
                std::to_string(start) + " + " + std::to_string(length) +
                    " reaches outside dimension " + std::to_string(d) + " of " +
                    to_text(raw_shape()).text,
                where);
  }
  return slice(d, start, start + length, 1, where);
}
Tensor Tensor::select(int dim, int64_t index, Where where) const {
  int d = wrap_dim("select", dim, rank(), where);
  int64_t n = raw_shape()[d];
  if (index < -n || index >= n) {
    throw_error("select",
                "index " + std::to_string(index) + " out of range for dimension " +
                    std::to_string(d) + " of " + to_text(raw_shape()).text,
                where);
  }
  if (index < 0) index += n;
  return slice(d, index, index + 1, 1, where).squeeze(d, where);
}

Tensor Tensor::expand(const Shape& shape, Where where) const {
  ShapeAttrs a;
  a.shape = DimList(shape.dims());
  int lead = shape.rank() - rank();
  for (int i = 0; i < shape.rank(); ++i) {
    if (a.shape.values[i] == -1)
      a.shape.values[i] = i < lead ? -1 : 1;  // 1: two-way broadcast keeps the dim
  }
  Tensor r = call(OpId::kExpand, a, {{*this, where}});
  // ONNX's two-way broadcast would keep a larger dim of this tensor; PyTorch refuses.
  for (int i = 0; i < shape.rank(); ++i) {
    if (shape[i] == -1 || r.raw_shape()[r.rank() - shape.rank() + i] == shape[i]) continue;
    throw_error(
        "expand",
        std::string(to_text(raw_shape()).text) + " does not expand to " + to_text(shape).text,
        where, Code::kShapeMismatch);
  }
  return r;
}

Tensor Tensor::squeeze(Where where) const {
  return call(OpId::kSqueeze, AxesAttrs{}, {{*this, where}});
}
Tensor Tensor::squeeze(int dim, Where where) const {
  int d = wrap_dim("squeeze", dim, rank(), where);
  if (raw_shape()[d] != 1) return *this;
  return call(OpId::kSqueeze, AxesAttrs{{d}}, {{*this, where}});
}
Tensor Tensor::unsqueeze(int dim, Where where) const {
  int d = wrap_dim("unsqueeze", dim, rank() + 1, where);
  return call(OpId::kUnsqueeze, AxesAttrs{{d}}, {{*this, where}});
}

Tensor Tensor::flatten(int start, int end, Where where) const {
  if (rank() == 0) return reshape({1}, where);
  int s = wrap_dim("flatten", start, rank(), where), e = wrap_dim("flatten", end, rank(), where);
  if (s > e) throw_error("flatten", "start_dim comes after end_dim", where);
  if (s == e) return *this;
  if (s == 1 && e == rank() - 1) return call(OpId::kFlatten, AxisAttrs{1}, {{*this, where}});
  ReshapeAttrs a;  // 0 copies a leading dim; the merged one is what is left
  for (int i = 0; i < s; ++i) a.shape.values[a.shape.count++] = 0;
  a.shape.values[a.shape.count++] = -1;
  for (int i = e + 1; i < rank(); ++i) a.shape.values[a.shape.count++] = raw_shape()[i];
  if (impl_->view.numel() == 0) {
    int64_t merged = 1;
    for (int i = s; i <= e; ++i) merged *= raw_shape()[i];
    a.shape.values[s] = merged;
    a.allowzero = 1;
    for (int i = 0; i < s; ++i) a.shape.values[i] = raw_shape()[i];
  }
  return call(OpId::kReshape, a, {{*this, where}});
}

}  // namespace wick
