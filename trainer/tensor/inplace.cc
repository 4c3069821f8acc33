// Writes into a tensor's own bytes: the checks, the bytes, the history.
#include "trainer/tensor/inplace.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "trainer/autograd/forward.h"
#include "trainer/autograd/node.h"
#include "trainer/tensor/device/vulkan_memory.h"
#include "trainer/tensor/internal.h"
#include "trainer/tensor/modes.h"
#include "trainer/tensor/ops.h"
#include "trainer/tensor/ops/pointwise.h"
#include "trainer/tensor/promote.h"
#include "trainer/tensor/recorder.h"
#include "trainer/tensor/view_info.h"
#include "trainer/tensor/watcher.h"

namespace wick {

// Uses strides for the results of slicing, transposing and expanding; overlapping windows are
// marked one by one.
bool overlaps_itself(const TensorView& v) {
  if (v.contiguous()) return false;
  int order[2 * kMaxRank], n = 0;  // twice: GCC 12's bounds warning assumes std::sort's threshold
  for (int i = 0; i < v.rank(); ++i) {
    if (v.shape[i] == 0) return false;
    if (v.shape[i] > 1) order[n++] = i;
  }
  auto step = [&](int i) { return v.strides[i] < 0 ? -v.strides[i] : v.strides[i]; };
  std::sort(order, order + n, [&](int a, int b) { return step(a) < step(b); });
  int64_t reach = 0;  // largest offset reached by the dims so far
  bool clear = true;
  for (int k = 0; k < n; ++k) {
    if (step(order[k]) == 0) return true;
    clear = clear && step(order[k]) > reach;
    reach += step(order[k]) * (v.shape[order[k]] - 1);
  }
  if (clear) return false;
  std::vector<bool> seen(static_cast<size_t>(reach) + 1);
  int64_t index[kMaxRank] = {};
  for (int64_t left = v.numel(), at = 0; left > 0; --left) {
    if (seen[static_cast<size_t>(at)]) return true;
    seen[static_cast<size_t>(at)] = true;
    for (int k = 0; k < n; ++k) {
      int d = order[k];
      at += step(d);
      if (++index[k] < v.shape[d]) break;
      at -= step(d) * v.shape[d];
      index[k] = 0;
    }
  }
  return false;
}

namespace {

bool recorded(const Tensor& target, const Tensor& result) {
  return grad_enabled() && (target.requires_grad() || result.requires_grad() ||
                            history_root(target.impl())->requires_grad);
}

// Returns the value to write: in the target's dtype, with a shape that broadcasts to the target's.
Tensor fit(const char* name, const Tensor& target, const Tensor& result, const Where& where) {
  if (!result.defined()) throw_error(name, "the result is undefined", where);
  if (!can_cast(result.dtype(), target.dtype())) {
    throw_error(name,
                std::string("result type ") + dtype_name(result.dtype()) +
                    " can't be cast to the desired output type " + dtype_name(target.dtype()),
                where, Code::kTypeMismatch);
  }
  const Shape &from = result.raw_shape(), &to = target.raw_shape();
  bool fits = from.rank() <= to.rank();
  for (int i = 0; fits && i < from.rank(); ++i) {
    int64_t d = from[from.rank() - 1 - i];
    fits = d == 1 || d == to[to.rank() - 1 - i];
  }
  if (!fits) {
    throw_error(name,
                std::string("a target of shape ") + to_text(to).text +
                    " cannot hold the result's shape " + to_text(from).text,
                where, Code::kShapeMismatch);
  }
  return result.to(target.dtype(), where);
}

// Announces that the bytes are about to change.
void tell(const Tensor& t, const char* name, const Where& where) {
  if (modes().watcher != nullptr) [[unlikely]] {
    watch_write(t, name, where);
  }
  t.storage().bump_version(name, where);
}

// Does the checks, then tracer, bytes, version and history, in this order, so that an error leaves
// everything unchanged. `lent`: result is a tensor of the caller, which keeps its own history.
const Tensor& write(const char* name, const Arg& target, const Tensor& result, bool lent = false) {
  const Tensor& t = target.tensor;
  const Where& where = target.where;
  Tensor r = fit(name, t, moved_beside(t, result, where), where);
  bool record = recorded(t, r);
  const ViewInfo* view = t.impl()->view_of.get();
  if (record && view != nullptr && view->kind == ViewKind::kNoGrad) {
    throw_error(name,
                "the view was taken under NoGrad and is written in gradient mode: take and write "
                "it both inside NoGrad, or both outside",
                where);
  }
  if (record && view != nullptr && view->kind == ViewKind::kBits) {
    throw_error(name, "no gradient passes through a view of another dtype; use NoGrad", where);
  }
  if (Tracer* tracer = active_tracer()) tracer->on_write(t, r, name, where);
  tell(t, name, where);
  TracerScope untraced(nullptr);
  if (!(r.raw_shape() == t.raw_shape())) r = r.expand(t.raw_shape(), where);
  if (record && lent && r.is_same(result)) r = identity_of(r, where);
  {
    NoGrad guard;
    if (r.layout().numel() > 0 && r.layout().data != t.layout().data) {
      Tensor from = r.impl()->storage == t.impl()->storage ? r.clone(where) : r;
      copy_bytes(from, t, where);
    } else if (r.layout().numel() > 0 && !(r.layout().strides == t.layout().strides)) {
      copy_bytes(r.clone(where), t, where);
    }
  }
  if (record) rebase_history(t.impl(), r, name, where);
  if (modes().forward != 0) forward_write(t, r, name, where);
  return t;
}

// Lets the kernel write an elementwise op directly into the target, without a copy, if its dtype
// fits and nothing has to be recorded. Returns false if nothing was done.
bool write_by_kernel(const char* name, OpId op, const Tensor& a, const Tensor& b,
                     const Where& where) {
  if (!b.defined()) throw_error(name, "the other operand is undefined", where);
  if (!a.is_contiguous() || !(a.raw_shape() == b.raw_shape() || b.rank() == 0)) return false;
  if (a.dtype() != b.dtype() || a.impl()->storage == b.impl()->storage) return false;
  if (active_tracer() != nullptr || modes().forward != 0 || recorded(a, b)) return false;
  if (modes().watcher != nullptr && watch_reads_numbers()) [[unlikely]] {
    return false;
  }
  if (Recorder* r = modes().recorder) [[unlikely]] {
    r->on_tensor(a);
    r->on_tensor(b);
  }
  TensorView in[2] = {a.layout(), b.layout()}, out[1] = {a.layout()};
  if (!run_kernel(op, nullptr, in, out, where, kInPlace)) return false;
  tell(a, name, where);
  return true;
}

// t += alpha * other, or -=. If alpha does not fit both tensors' dtype, `function` promotes the
// three, or refuses.
const Tensor& add_scaled(const char* name, OpId op,
                         Tensor (*function)(const Arg&, const Arg&, Scalar), const Tensor& t,
                         const Tensor& other, Scalar alpha, const Where& where) {
  check_writable(name, t, where);
  DType type = t.dtype();
  bool promotes =
      other.defined() && alpha.value != 1 &&
      (other.dtype() != type || type == DType::kBool || (!is_float(type) && !alpha.integral));
  if (promotes) {
    Composite composite(name, where);
    return in_place(name, {t, where}, [&](const Arg& x) {
      return function(x, {other, where}, alpha);
    });
  }
  Tensor b = other;
  if (alpha.value != 1) b = mul({other, where}, {full({}, alpha, type), where});
  if (write_by_kernel(name, op, t, b, where)) return t;
  return in_place(name, {t, where}, [&](const Arg& x) { return function(x, {b, where}, 1); });
}

}  // namespace

void check_writable(const char* name, const Tensor& t, const Where& where) {
  if (!t.defined()) throw_error(name, "the tensor is undefined", where);
  if (grad_enabled()) {
    bool view = t.impl()->view_of != nullptr;
    TensorImpl* root = history_root(t.impl());
    if (view && t.requires_grad() && t.is_leaf()) {
      view = false;
      root = t.impl();
    }
    if (root->requires_grad && !root->grad_fn) {
      throw_error(name,
                  std::string(view ? "a view of a leaf" : "a leaf") +
                      " that requires grad cannot be modified in place; use NoGrad",
                  where);
    }
  }
  if (overlaps_itself(t.layout())) {
    throw_error(name,
                std::string("more than one element of the written-to tensor ") +
                    to_text(t.raw_shape()).text +
                    " refers to a single memory location: clone() it first",
                where);
  }
}

const Tensor& write_result(const char* name, const Arg& target, const Tensor& result) {
  check_writable(name, target.tensor, target.where);
  return write(name, target, result);
}

const Tensor& in_place(const char* name, const Arg& target, const OperandFn& f) {
  const Tensor& t = target.tensor;
  check_writable(name, t, target.where);
  if (!grad_enabled() || active_tracer() != nullptr) return write(name, target, f(target));
  // The ops of f save this handle for backward: it has the old history, and after the write the old
  // bytes.
  refresh_history(t.impl());
  Tensor operand = alias(t, t.layout());
  operand.impl()->requires_grad = t.impl()->requires_grad;
  operand.impl()->grad_fn = t.impl()->grad_fn;
  operand.impl()->output_nr = t.impl()->output_nr;
  operand.impl()->name = t.impl()->name;
  operand.impl()->operand = true;
  if (modes().forward != 0) set_tangent(operand, tangent_of(t));
  Tensor result = f({operand, target.where});
  if (!operand.impl()->unique() && !result.is_same(operand)) {
    NoGrad guard;
    Tensor kept = new_tensor_beside(t.layout(), t.raw_shape(), t.dtype(), t.storage().born());
    copy_bytes(t, kept, target.where);
    kept.storage().set_version(t.version());
    operand.impl()->storage = kept.impl()->storage;
    operand.impl()->view = kept.impl()->view;
  }
  return write(name, target, result);
}

const Tensor& Tensor::fill_(Scalar value, Where where) const {
  need("fill_", where);
  check_writable("fill_", *this, where);
  return write("fill_", {*this, where}, full({}, value, dtype()));
}

const Tensor& Tensor::zero_(Where where) const {
  need("zero_", where);
  check_writable("zero_", *this, where);
  Tensor zero = full({}, 0, dtype());
  if (!is_contiguous() || is_vulkan() || active_tracer() != nullptr || modes().forward != 0 ||
      recorded(*this, zero))
    return write("zero_", {*this, where}, zero);
  tell(*this, "zero_", where);
  if (impl_->view.numel() > 0) memset(impl_->view.data, 0, impl_->view.nbytes());
  if (Recorder* r = modes().recorder) [[unlikely]] {
    r->on_tensor(*this);
    r->on_zero(layout(), where);
  }
  return *this;
}

const Tensor& Tensor::copy_(const Tensor& source, Where where) const {
  need("copy_", where);
  if (!source.defined()) throw_error("copy_", "the source is undefined", where);
  check_writable("copy_", *this, where);
  Tensor value = source.to(dtype(), where);
  return write("copy_", {*this, where}, value, value.is_same(source));
}

const Tensor& Tensor::add_(const Tensor& other, Scalar alpha, Where where) const {
  need("add_", where);
  return add_scaled("add_", OpId::kAdd, wick::add, *this, other, alpha, where);
}
const Tensor& Tensor::sub_(const Tensor& other, Scalar alpha, Where where) const {
  need("sub_", where);
  return add_scaled("sub_", OpId::kSub, wick::sub, *this, other, alpha, where);
}
const Tensor& Tensor::mul_(const Tensor& other, Where where) const {
  need("mul_", where);
  check_writable("mul_", *this, where);
  if (write_by_kernel("mul_", OpId::kMul, *this, other, where)) return *this;
  return in_place("mul_", {*this, where}, [&](const Arg& x) {
    return wick::mul(x, {other, where});
  });
}
const Tensor& Tensor::div_(const Tensor& other, Where where) const {
  need("div_", where);
  check_writable("div_", *this, where);
  if (is_float(dtype()) && write_by_kernel("div_", OpId::kDiv, *this, other, where)) return *this;
  return in_place("div_", {*this, where}, [&](const Arg& x) {
    return wick::div(x, {other, where});
  });
}

// Returns a number as a 0-dim tensor, in the dtype that it has when combined with t.
static Tensor beside(const Tensor& t, Scalar value) {
  bool same = is_float(t.dtype()) || (value.integral && t.dtype() != DType::kBool);
  return full({}, value, same ? t.dtype() : value.integral ? DType::kI64 : DType::kF32);
}
const Tensor& Tensor::add_(Scalar value, Where where) const {
  need("add_", where);
  return add_(beside(*this, value), 1, where);
}
const Tensor& Tensor::sub_(Scalar value, Where where) const {
  need("sub_", where);
  return sub_(beside(*this, value), 1, where);
}
const Tensor& Tensor::mul_(Scalar value, Where where) const {
  need("mul_", where);
  return mul_(beside(*this, value), where);
}
const Tensor& Tensor::div_(Scalar value, Where where) const {
  need("div_", where);
  return div_(beside(*this, value), where);
}

}  // namespace wick
