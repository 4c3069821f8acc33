#include "trainer/tensor/tensor.h"

#include <atomic>
#include <cmath>
#include <cstdio>

#include "runtime/core/half.h"
#include "runtime/kernels/copy.h"
#include "trainer/autograd/hooks.h"
#include "trainer/autograd/node.h"
#include "trainer/autograd/sparse_slot.h"
#include "trainer/tensor/block_pool.h"
#include "trainer/tensor/device/vulkan_memory.h"
#include "trainer/tensor/internal.h"
#include "trainer/tensor/modes.h"
#include "trainer/tensor/ops.h"
#include "trainer/tensor/recorder.h"
#include "trainer/tensor/view_info.h"

namespace wick {
namespace {

std::atomic<uint64_t> g_next_id{1};

double read_element(const TensorView& v, int64_t i) {
  switch (v.dtype) {
    case DType::kF32: return static_cast<double>(v.as<float>()[i]);
    case DType::kF64: return v.as<double>()[i];
    case DType::kF16: return static_cast<double>(static_cast<float>(v.as<Half>()[i]));
    case DType::kBF16: return static_cast<double>(static_cast<float>(v.as<BFloat16>()[i]));
    case DType::kI64: return static_cast<double>(v.as<int64_t>()[i]);
    case DType::kI32: return v.as<int32_t>()[i];
    case DType::kI16: return v.as<int16_t>()[i];
    case DType::kI8: return v.as<int8_t>()[i];
    case DType::kU64: return static_cast<double>(v.as<uint64_t>()[i]);
    case DType::kU32: return v.as<uint32_t>()[i];
    case DType::kU16: return v.as<uint16_t>()[i];
    case DType::kU8: return v.as<uint8_t>()[i];
    case DType::kBool: return v.as<bool>()[i] ? 1 : 0;
    default: return std::nan("");
  }
}

}  // namespace

TensorImpl::TensorImpl() : TensorCore(g_next_id.fetch_add(1, std::memory_order_relaxed)) {}
TensorImpl::~TensorImpl() {
  if (retains_grad) stop_retaining(this);
}
void TensorCore::dispose(TensorCore* t) {
  static_cast<TensorImpl*>(t)->~TensorImpl();
  pool_give(t, sizeof(TensorImpl));
}
void* TensorImpl::operator new(size_t bytes) {
  void* block = pool_take(bytes);
  if (block == nullptr) throw std::bad_alloc();
  return block;
}
void TensorImpl::operator delete(void* block) { pool_give(block, sizeof(TensorImpl)); }

Tensor new_tensor(const Shape& shape, DType dtype, const Where& born) {
  auto bytes = checked_bytes(shape, dtype_bits(dtype));
  if (!bytes.ok()) {
    if (born.line() != 0)
      throw_error("empty", bytes.status().message(), born, bytes.status().code());
    throw Error(std::string("[empty] ") + bytes.status().message(), bytes.status().code());
  }
  IntrusivePtr<TensorImpl> impl(new TensorImpl);
  const Modes& now = modes();  // what a composite makes was made by the user's call of it
  impl->storage = Storage::create(*bytes, now.site != nullptr ? now.site->where : born);
  impl->view = TensorView(impl->storage->data(), dtype, shape);
  impl->inference = now.inference;
  return Tensor(std::move(impl));
}

Tensor alias(const Tensor& base, const TensorView& view) {
  IntrusivePtr<TensorImpl> impl(new TensorImpl);
  impl->storage = base.impl()->storage;
  impl->view = view;
  impl->inference = base.impl()->inference;
  return Tensor(std::move(impl));
}

int wrap_dim(const char* op, int64_t dim, int rank, const Where& where) {
  if (dim < -rank || dim >= rank) {
    throw_error(op, "dim " + std::to_string(dim) + " out of range for rank " + std::to_string(rank),
                where);
  }
  return static_cast<int>(dim < 0 ? dim + rank : dim);
}

const DimShape& Tensor::shape(Where where) const {
  need("shape", where);
  if (Tracer* t = active_tracer()) return t->on_shape(*this, where);
  return as_dims(impl_->view.shape);
}
Dim Tensor::size(int dim, Where where) const {
  need("size", where);
  int d = wrap_dim("size", dim, rank(), where);
  if (Tracer* t = active_tracer()) return t->on_size(*this, d, where);
  return Dim(impl_->view.shape[d]);
}
Dim Tensor::numel(Where where) const {
  need("numel", where);
  return wick::numel(shape(where));
}

void Tensor::check_access(const char* what, DType want, const Where& where, bool write) const {
  if (!defined()) throw_error(what, "the tensor is undefined", where);
  if (dtype() != want) {
    throw_error(what,
                std::string("the tensor is ") + dtype_name(dtype()) + ", not " + dtype_name(want),
                where, Code::kTypeMismatch);
  }
  if (is_vulkan()) not_on_host(what, where);
  if (!is_contiguous())
    throw_error(what, "the tensor is not contiguous: call contiguous() first", where);
  note_host_read(what, where);
  if (Tracer* t = active_tracer()) {
    if (write) {
      t->on_write(*this, Tensor(), what, where);
    } else {
      t->on_read(*this, what, where);
    }
  }
  if (write) impl_->storage->bump_version(what, where);
}

double Tensor::item(Where where) const {
  auto fail = [&](const std::string& text, Code code) {
    if (where.line() == 0) throw Error("[item] " + text, code);  // in double(t) or if (t)
    throw_error("item", text, where, code);
  };
  if (!defined()) fail("the tensor is undefined", Code::kInvalidArgument);
  if (impl_->view.numel() != 1) {
    fail(std::string("only a tensor of size 1 can be converted to a C++ number, got ") +
             to_text(raw_shape()).text,
         Code::kShapeMismatch);
  }
  note_host_read("item", where);
  if (Tracer* t = active_tracer()) t->on_read(*this, "item", where);
  return read_element(one_element(where).layout(), 0);
}
int64_t Tensor::item_int(Where where) const {
  need("item_int", where);
  const double v = item(where);
  const DType t = dtype();
  if (t == DType::kI64) return *one_element(where).layout().as<int64_t>();
  if (t == DType::kU64 && v < 0x1p63)
    return static_cast<int64_t>(*one_element(where).layout().as<uint64_t>());
  if (!(v >= -0x1p63 && v < 0x1p63)) {
    char text[32];
    snprintf(text, sizeof text, std::isfinite(v) ? "%e" : "%f", v);
    throw_error("item_int", std::string(text) + " is no value of int64", where);
  }
  return static_cast<int64_t>(v);
}

uint64_t Tensor::item_uint(const Where& where) const {
  need("item", where);
  if (dtype() != DType::kU64) return static_cast<uint64_t>(item_int(where));
  item(where);  // its checks, and a tracer's
  return *one_element(where).layout().as<uint64_t>();
}

Tensor Tensor::one_element(const Where& where) const { return to_host(*this, where); }

const Tensor& Tensor::requires_grad_(bool on, Where where) const {
  need("requires_grad_", where);
  if (!is_leaf()) {
    if (on) return *this;
    throw_error("requires_grad_",
                "you can only change requires_grad flags of leaf variables: use detach() to get a "
                "tensor without history",
                where);
  }
  if (on && is_inference() && !modes().inference) {
    throw_error("requires_grad_",
                "setting requires_grad=True on an inference tensor outside InferenceMode is not "
                "allowed: clone() it first",
                where);
  }
  if (on && !is_float(dtype())) {
    throw_error("requires_grad_",
                std::string("only Tensors of floating point dtype can require gradients, got ") +
                    dtype_name(dtype()),
                where, Code::kTypeMismatch);
  }
  impl()->requires_grad = on;
  return *this;
}

bool Tensor::requires_grad() const { return requires_grad_of(*this); }
bool Tensor::is_leaf(Where where) const {
  need("is_leaf", where);
  refresh_history(impl());
  return !impl()->grad_fn;
}
bool Tensor::retains_grad(Where where) const {
  need("retains_grad", where);
  return impl()->retains_grad;
}
bool Tensor::is_inference() const { return impl_ && impl()->inference; }
Tensor Tensor::grad(Where where) const {
  need("grad", where);
  if (sparse_slot(impl()) != nullptr) [[unlikely]] {
    throw_error("grad",
                gradient_of_text(impl()) +
                    " is sparse: sparse_grad(t) has its rows, sparse_grad(t)->to_dense() is the "
                    "tensor, zero_grad() clears it",
                where, Code::kUnsupported);
  }
  return Tensor(impl()->grad);
}
const std::string& Tensor::name(Where where) const {
  need("name", where);
  return impl()->name;
}

void Tensor::set_grad(const Tensor& g, Where where) const {
  need("set_grad", where);
  if (g.is_same(*this)) throw_error("set_grad", "a tensor cannot be its own gradient", where);
  if (g.defined() && (g.dtype() != dtype() || !(g.raw_shape() == raw_shape()))) {
    throw_error("set_grad",
                std::string("the gradient is ") + dtype_name(g.dtype()) +
                    to_text(g.raw_shape()).text + ", the tensor " + dtype_name(dtype()) +
                    to_text(raw_shape()).text,
                where, g.dtype() != dtype() ? Code::kTypeMismatch : Code::kShapeMismatch);
  }
  impl()->grad = IntrusivePtr<TensorImpl>(g.impl());
  set_sparse_slot(impl(), {});
}

Tensor Tensor::detach(Where where) const {
  need("detach", where);
  Tensor t = alias(*this, impl_->view);
  t.impl()->name = impl()->name;
  // For a tracer the two are one value.
  if (Tracer* tracer = active_tracer()) {
    const Tensor* in[] = {this};
    track_view(t, *this, OpId::kIdentity, nullptr, where, ViewKind::kDetached);
    tracer->on_call({OpId::kIdentity, nullptr, in, {&t, 1}, where});
  }
  return t;
}

const Tensor& Tensor::detach_(Where where) const {
  need("detach_", where);
  if (is_view()) {  // its history is its base's: the next write to that would set it again
    throw_error("detach_", "a view cannot be detached in place: use detach(), which is one more",
                where);
  }
  if (impl()->retains_grad) stop_retaining(impl());
  impl()->grad_fn = {};
  impl()->output_nr = 0;
  impl()->requires_grad = false;
  return *this;
}

Tensor Tensor::named(std::string name, Where where) const {
  need("named", where);
  impl()->name = std::move(name);
  return *this;
}

void Tensor::set_data(const Tensor& other, Where where) const {
  need("set_data", where);
  other.need("set_data", where);
  note_break("set_data", "gives a tensor other bytes", "write into it: copy_()", where);
  impl_->storage = other.impl_->storage;
  impl_->view = other.impl_->view;
  impl()->grad = {};
  set_sparse_slot(impl(), {});
}

Tensor Tensor::contiguous(Where where) const {
  need("contiguous", where);
  return is_contiguous() ? *this : clone(where);
}
Tensor Tensor::clone(Where where) const {
  need("clone", where);
  return call(OpId::kIdentity, NoAttrs{}, {{*this, where}});
}
Tensor Tensor::to(DType dtype, Where where) const {
  need("to", where);
  if (dtype == this->dtype()) return *this;
  if (is_small(dtype)) {
    throw_error("to",
                std::string("tensors of ") + dtype_name(dtype) +
                    " exist in programs only; train in float32, and quantize what is exported",
                where);
  }
  return call(OpId::kCast, CastAttrs{static_cast<int64_t>(dtype)}, {{*this, where}});
}

}  // namespace wick
