// Writes into a tensor's own bytes. Autograd does not record them, so it refuses those it would
// have to.
#include "runtime/kernels/copy.h"
#include "trainer/tensor/internal.h"
#include "trainer/tensor/modes.h"
#include "trainer/tensor/ops.h"
#include "trainer/tensor/watcher.h"

namespace wick {
namespace {

void before_write(const Tensor& t, const Tensor* source, const char* what, const Where& where) {
  if (grad_enabled() && t.requires_grad()) {
    throw_error(
        what,
        t.is_leaf()
            ? "a leaf that requires grad cannot be modified in place; use NoGrad"
            : "a recorded result cannot be modified in place; use NoGrad or an out-of-place op",
        where);
  }
  if (grad_enabled() && source != nullptr && source->requires_grad()) {
    throw_error(
        what,
        "writing a tensor that requires grad would not be recorded; detach() it or use NoGrad",
        where);
  }
  if (Tracer* tracer = active_tracer()) tracer->on_write(t, what, where);
  if (modes().watcher != nullptr) [[unlikely]] {
    watch_write(t, what, where);
  }
  t.storage().bump_version();
}

// op(a, b) into a's bytes. Views of one storage may overlap: those get a result of its own first,
// as the kernel would read what it has just written.
void binary_into(OpId op, const Tensor& a, const Tensor& b, const char* what, const Where& where) {
  NoGrad guard;
  TracerScope untraced(nullptr);
  Tensor other = b.to(a.dtype(), where);
  if (a.is_contiguous()) {
    TensorView in[2] = {a.raw(), other.raw()}, out[1] = {a.raw()};
    if (other.raw_shape() == a.raw_shape() && other.impl()->storage != a.impl()->storage &&
        run_kernel(op, nullptr, in, out, where, true)) {
      return;
    }
  }
  Tensor result;
  const Tensor* in[] = {&a, &other};
  call(op, nullptr, in, {&result, 1}, where);
  if (!(result.raw_shape() == a.raw_shape())) {
    throw_error(what,
                std::string("the result ") + to_text(result.raw_shape()).text +
                    " does not fit into " + to_text(a.raw_shape()).text,
                where, Code::kShapeMismatch);
  }
  copy_strided(result.raw(), a.raw());
}

}  // namespace

const Tensor& Tensor::fill_(Scalar value, Where where) const {
  before_write(*this, nullptr, "fill_", where);
  Tensor one = full({}, value, dtype());
  TensorView spread = impl_->view;
  spread.data = one.raw().data;
  for (int i = 0; i < spread.rank(); ++i) spread.strides[i] = 0;
  copy_strided(spread, impl_->view);
  return *this;
}

const Tensor& Tensor::zero_(Where where) const {
  if (!is_contiguous()) return fill_(0, where);
  before_write(*this, nullptr, "zero_", where);
  memset(impl_->view.data, 0, impl_->view.nbytes());
  return *this;
}

const Tensor& Tensor::copy_(const Tensor& source, Where where) const {
  before_write(*this, &source, "copy_", where);
  NoGrad guard;
  TracerScope untraced(nullptr);
  Tensor from = source.to(dtype(), where);
  if (!(from.raw_shape() == raw_shape())) from = from.expand(raw_shape(), where);
  if (from.impl()->storage == impl_->storage) from = from.clone(where);
  copy_strided(from.raw(), impl_->view);
  return *this;
}

const Tensor& Tensor::add_(const Tensor& other, Scalar alpha, Where where) const {
  before_write(*this, &other, "add_", where);
  NoGrad guard;
  TracerScope untraced(nullptr);
  binary_into(
      OpId::kAdd, *this,
      alpha.value == 1 ? other : mul({other, where}, {full({}, alpha, other.dtype()), where}),
      "add_", where);
  return *this;
}
const Tensor& Tensor::mul_(const Tensor& other, Where where) const {
  before_write(*this, &other, "mul_", where);
  binary_into(OpId::kMul, *this, other, "mul_", where);
  return *this;
}
const Tensor& Tensor::mul_(Scalar value, Where where) const {
  before_write(*this, nullptr, "mul_", where);
  binary_into(OpId::kMul, *this, full({}, value, dtype()), "mul_", where);
  return *this;
}

}  // namespace wick
