// Views. Shapes are passed on in a form that keeps a dynamic batch symbolic under capture if
// possible: 0 copies a dimension, -1 is inferred.
#include <algorithm>

#include "trainer/autograd/forward.h"
#include "trainer/autograd/hooks.h"
#include "trainer/autograd/node.h"
#include "trainer/tensor/internal.h"
#include "trainer/tensor/ops.h"
#include "trainer/tensor/recorder.h"
#include "trainer/tensor/view_info.h"
#include "trainer/tensor/view_rule.h"

namespace wick {

DimList sizes_of(const char* op, const Shape& sizes, const Where& where) {
  if (!sizes.overflowed()) return DimList(sizes.dims());
  throw_error(op,
              "more than " + std::to_string(kMaxRank) + " dimensions, which begin with " +
                  to_text(sizes).text,
              where, Code::kShapeMismatch);
}

// A view is a separate tensor even if it changes nothing: its name, requires_grad or shape must not
// affect the other.
Tensor view_of_all(const Tensor& x, const Where& where) {
  TransposeAttrs a;
  for (int i = 0; i < x.rank(); ++i) a.perm.values[a.perm.count++] = i;
  return call(OpId::kTranspose, a, {{x, where}});
}

Tensor Tensor::reshape(const SizeList& shape, Where where) const {
  need("reshape", where);
  ReshapeAttrs a;
  a.shape = sizes_of("reshape", shape, where);
  // A 0 in a user's shape is an empty dimension, not ONNX's "copy".
  for (int64_t d : shape) a.allowzero = a.allowzero != 0 || d == 0 ? 1 : 0;
  return call(OpId::kReshape, a, {{*this, where}});
}

Tensor Tensor::view(const SizeList& shape, Where where) const {
  need("view", where);
  Tensor r = reshape(shape, where);
  if (r.impl()->storage == impl_->storage) return r;
  std::string strides;
  for (int i = 0; i < rank(); ++i)
    strides += std::string(i > 0 ? "," : "") + std::to_string(impl_->view.strides[i]);
  throw_error("view",
              std::string("size ") + to_text(shape).text + " is not compatible with stride [" +
                  strides + "]; use reshape() (copies) or contiguous().view()",
              where, Code::kShapeMismatch);
}

// Returns the view of t's memory as elements of another size: the last dimension gets more or
// fewer.
static TensorView resized(const Tensor& t, DType to, const Where& where) {
  const DType from = t.dtype();
  auto refuse = [&](const std::string& why) {
    throw_error("view",
                std::string(dtype_name(from)) + to_text(t.raw_shape()).text + " as " +
                    dtype_name(to) + ", elements of another size: " + why,
                where, Code::kTypeMismatch);
  };
  const auto a = static_cast<int64_t>(dtype_size(from)), b = static_cast<int64_t>(dtype_size(to));
  if (a == 0 || b == 0) refuse("it has no whole bytes");
  if (t.rank() == 0) refuse("needs a dimension");
  TensorView v = t.layout();
  const int last = v.rank() - 1;
  if (v.strides[last] != 1) refuse("the last stride must be 1; call contiguous() first");
  auto fitted = [&](int64_t n, const char* what) {
    if (n * a % b != 0) {
      refuse(std::string(what) + ", " + std::to_string(n) + ", must be divisible by " +
             std::to_string(b / a));
    }
    return n * a / b;
  };
  fitted(t.storage_offset(where), "the offset");
  v.shape[last] = fitted(v.shape[last], "the last dimension");
  for (int i = 0; i < last; ++i) v.strides[i] = fitted(v.strides[i], "a stride");
  return v;
}

Tensor Tensor::view(DType dtype, Where where) const {
  need("view", where);
  if (dtype == this->dtype()) return view_of_all(*this, where);
  const TensorView bits =
      dtype_bits(dtype) == dtype_bits(this->dtype()) ? impl_->view : resized(*this, dtype, where);
  if (Tracer* tracer = active_tracer()) tracer->on_read(*this, "view(dtype)", where);
  TensorView v = bits;
  v.dtype = dtype;
  Tensor out = alias(*this, v);
  track_view(out, *this, OpId::kIdentity, nullptr, where, ViewKind::kBits);
  return out;
}

Tensor Tensor::permute(const Shape& axes, Where where) const {
  need("permute", where);
  return wick::permute({*this, where}, axes);
}
Tensor Tensor::T(Where where) const {
  need("T", where);
  return call(OpId::kTranspose, TransposeAttrs{}, {{*this, where}});
}
Tensor Tensor::mT(Where where) const {
  need("mT", where);
  return wick::adjoint({*this, where});
}

int64_t Tensor::stride(int dim, Where where) const {
  need("stride", where);
  return impl_->view.strides[wrap_dim("stride", dim, rank(), where)];
}
int64_t Tensor::storage_offset(Where where) const {
  need("storage_offset", where);
  if (impl_->view.numel() == 0) return 0;
  return (static_cast<const char*>(impl_->view.data) -
          static_cast<const char*>(impl_->storage->data())) /
         static_cast<int64_t>(itemsize());
}
bool Tensor::is_view(Where where) const {
  need("is_view", where);
  return impl()->view_of && impl()->view_of->kind != ViewKind::kDetached;
}
Tensor Tensor::base(Where where) const {
  if (!is_view(where)) return {};
  return Tensor(IntrusivePtr<TensorImpl>(history_root(impl())));
}

// `other` is a view of this tensor. If there may be other views of this one, its former state lives
// on as their parent.
const Tensor& Tensor::become(const char* name, const Tensor& other, const Where& where) const {
  bool leaf = requires_grad() && is_leaf();
  if (leaf && grad_enabled())
    throw_error(name, "a leaf that requires grad cannot be modified in place; use NoGrad", where);
  TensorImpl *to = impl(), *from = other.impl();
  refresh_history(from);
  // The storage has only two holders: this tensor and the view.
  bool alone = !to->view_of && to->storage->holders() == 2;
  Tensor tangent = tangent_of(other);
  IntrusivePtr<TensorImpl> old;
  if (!alone && !leaf) old = IntrusivePtr<TensorImpl>(new TensorImpl);
  if (Tracer* tracer = active_tracer()) tracer->on_reshape(*this, other, Tensor(old), name, where);
  if (old) {
    old->storage = to->storage;
    old->view = to->view;
    old->requires_grad = to->requires_grad;
    old->grad_fn = to->grad_fn;
    old->output_nr = to->output_nr;
    old->view_of = std::move(to->view_of);
    old->generation = to->generation;
    old->reshapes = to->reshapes;
    if (to->hooks) {  // only forward mode's part
      old->hooks = std::make_shared<TensorHooks>();
      old->hooks->tangent = to->hooks->tangent;
      old->hooks->level = to->hooks->level;
      old->hooks->tangent_writes = to->hooks->tangent_writes;
    }
    to->view_of = std::move(from->view_of);
    to->view_of->parent = old;
    if (to->view_of->root == to) to->view_of->root = old.get();
    to->view_of->generation = history_root(old.get())->generation;
    ++to->reshapes;
  }
  if (!(to->view.shape == from->view.shape)) to->grad = {};  // it had the old shape
  to->view = from->view;
  // A backward that saved this handle would read it with the new shape.
  to->storage->bump_version(name, where);
  if (!leaf) {
    bool retains = to->retains_grad;
    if (retains) stop_retaining(to);
    to->requires_grad = from->requires_grad;
    to->grad_fn = from->grad_fn;
    to->output_nr = from->output_nr;
    if (retains && to->grad_fn) start_retaining(to);
  }
  set_tangent(*this, tangent);
  return *this;
}

const Tensor& Tensor::set_shape(const Shape& shape, Where where) const {
  need("set_shape", where);
  return become("set_shape", view(shape, where), where);
}
const Tensor& Tensor::transpose_(int a, int b, Where where) const {
  need("transpose_", where);
  return become("transpose_", transpose(a, b, where), where);
}
const Tensor& Tensor::t_(Where where) const {
  need("t_", where);
  return become("t_", t(where), where);
}
const Tensor& Tensor::squeeze_(Where where) const {
  need("squeeze_", where);
  return become("squeeze_", squeeze(where), where);
}
const Tensor& Tensor::unsqueeze_(int dim, Where where) const {
  need("unsqueeze_", where);
  return become("unsqueeze_", unsqueeze(dim, where), where);
}

const Tensor& Tensor::set_(const Tensor& source, Where where) const {
  need("set_", where);
  if (grad_enabled() && requires_grad())
    throw_error("set_", "a tensor that requires grad cannot be given other bytes; use NoGrad",
                where);
  if (Tracer* tracer = active_tracer()) tracer->on_write(*this, Tensor(), "set_", where);
  set_data(source.detach(where), where);
  impl()->view_of = nullptr;
  if (impl()->grad_fn) detach_(where);
  return *this;
}

void* Tensor::unsafe_data(Where where) const {
  need("unsafe_data", where);
  if (is_vulkan()) not_on_host("unsafe_data", where);
  if (!is_contiguous())
    throw_error("unsafe_data", "the tensor is not contiguous: call contiguous() first", where);
  note_host_read("unsafe_data", where);
  if (Tracer* tracer = active_tracer()) tracer->on_write(*this, Tensor(), "unsafe_data", where);
  impl_->storage->bump_version("unsafe_data", where);
  return impl_->view.data;
}

Tensor Tensor::transpose(int d0, int d1, Where where) const {
  need("transpose", where);
  d0 = wrap_dim("transpose", d0, std::max(rank(), 1), where);  // a number has dims 0 and -1
  d1 = wrap_dim("transpose", d1, std::max(rank(), 1), where);
  if (rank() == 0) return view_of_all(*this, where);
  TransposeAttrs a;
  for (int i = 0; i < rank(); ++i) a.perm.values[a.perm.count++] = i == d0 ? d1 : i == d1 ? d0 : i;
  return call(OpId::kTranspose, a, {{*this, where}});
}
Tensor Tensor::t(Where where) const {
  need("t", where);
  if (rank() > 2)
    throw_error("t", "needs rank 2 or less, got rank " + std::to_string(rank()), where,
                Code::kShapeMismatch);
  return rank() < 2 ? view_of_all(*this, where) : transpose(0, 1, where);
}

Tensor Tensor::slice(int dim, SizeArg start, SizeArg end, SizeArg step, Where where) const {
  need("slice", where);
  int d = wrap_dim("slice", dim, rank(), where);
  return call(OpId::kSlice, SliceAttrs{{start}, {end}, {d}, {step}}, {{*this, where}});
}
Tensor Tensor::narrow(int dim, SizeArg start, SizeArg length, Where where) const {
  need("narrow", where);
  int d = wrap_dim("narrow", dim, rank(), where);
  int64_t n = raw_shape()[d], from = start < 0 ? start + n : start.number;
  if (from < 0 || from > n || length < 0 || length > n - from) {
    throw_error("narrow",
                std::to_string(start) + " + " + std::to_string(length) +
                    " reaches outside dimension " + std::to_string(d) + " of " +
                    to_text(raw_shape()).text,
                where);
  }
  return slice(d, from, from + length, 1, where);
}
Tensor Tensor::select(int dim, SizeArg index, Where where) const {
  need("select", where);
  int d = wrap_dim("select", dim, rank(), where);
  int64_t n = raw_shape()[d];
  if (index < -n || index >= n) {
    throw_error("select",
                "index " + std::to_string(index) + " out of range for dimension " +
                    std::to_string(d) + " of " + to_text(raw_shape()).text,
                where);
  }
  const int64_t at = index < 0 ? index + n : index.number;
  return slice(d, at, at + 1, 1, where).squeeze(d, where);
}

Tensor Tensor::expand(const SizeList& shape, Where where) const {
  need("expand", where);
  ShapeAttrs a;
  a.shape = sizes_of("expand", shape, where);
  int lead = shape.rank() - rank();
  if (lead < 0) {
    throw_error("expand",
                std::string(to_text(raw_shape()).text) + " has more dimensions than the " +
                    to_text(shape).text + " asked for",
                where, Code::kShapeMismatch);
  }
  for (int i = 0; i < shape.rank(); ++i) {
    if (a.shape.values[i] == -1)
      a.shape.values[i] = i < lead ? -1 : 1;  // 1: two-way broadcast keeps the dim
  }
  Tensor r = call(OpId::kExpand, a, {{*this, where}});
  // ONNX's two-way broadcast would keep a larger dim of this tensor; PyTorch throws.
  for (int i = 0; i < shape.rank(); ++i) {
    if (shape[i] == -1 || r.raw_shape()[i] == shape[i]) continue;
    throw_error(
        "expand",
        std::string(to_text(raw_shape()).text) + " does not expand to " + to_text(shape).text,
        where, Code::kShapeMismatch);
  }
  return r;
}

Tensor Tensor::squeeze(Where where) const {
  need("squeeze", where);
  return call(OpId::kSqueeze, AxesAttrs{}, {{*this, where}});
}
Tensor Tensor::squeeze(int dim, Where where) const {
  need("squeeze", where);
  int d = wrap_dim("squeeze", dim, std::max(rank(), 1), where);
  if (rank() == 0 || raw_shape()[d] != 1) return view_of_all(*this, where);
  return call(OpId::kSqueeze, AxesAttrs{{d}}, {{*this, where}});
}
Tensor Tensor::unsqueeze(int dim, Where where) const {
  need("unsqueeze", where);
  int d = wrap_dim("unsqueeze", dim, rank() + 1, where);
  return call(OpId::kUnsqueeze, AxesAttrs{{d}}, {{*this, where}});
}

Tensor Tensor::flatten(int start, int end, Where where) const {
  need("flatten", where);
  if (rank() == 0) return reshape({1}, where);
  int s = wrap_dim("flatten", start, rank(), where), e = wrap_dim("flatten", end, rank(), where);
  if (s > e) throw_error("flatten", "start_dim comes after end_dim", where);
  if (s == e) return *this;  // PyTorch's flatten() also returns the tensor itself
  if (s == 1 && e == rank() - 1) return call(OpId::kFlatten, AxisAttrs{1}, {{*this, where}});
  ReshapeAttrs a;  // 0 copies a leading dim; the merged one is inferred
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
