#include "trainer/tensor/ops/reuse.h"

#include "trainer/tensor/internal.h"
#include "trainer/tensor/modes.h"
#include "trainer/tensor/recorder.h"
#include "trainer/tensor/tensor_impl.h"
#include "trainer/tensor/tracer.h"

namespace wick {
namespace {

bool gone(const Arg& a) { return a.temporary != nullptr && detail::is_spent(a.tensor); }

// Returns whether b broadcasts to a's shape without changing it.
bool fits(const TensorView& b, const TensorView& a) {
  const int skip = a.rank() - b.rank();
  if (skip < 0) return false;
  for (int i = 0; i < b.rank(); ++i) {
    if (b.shape[i] != a.shape[skip + i] && b.shape[i] != 1) return false;
  }
  return true;
}

bool unseen(const Tensor& a, const Tensor& b) {
  const Modes& m = modes();
  return m.forward == 0 && m.watcher == nullptr && active_tracer() == nullptr &&
         !(m.grad && (requires_grad_of(a) || requires_grad_of(b)));
}

}  // namespace

bool detail::is_spent(const Tensor& tensor) {
  if (!tensor.impl()->unique()) return false;
  const TensorImpl& t = *tensor.impl();
  return t.storage->unique() && !t.requires_grad && t.inference == modes().inference &&
         !t.view_of && !t.grad && !t.hooks && t.name.empty() && t.view.contiguous();
}

Tensor detail::reuse(OpId op, const Arg& a, const Arg& b) {
  if (a.temporary == nullptr && b.temporary == nullptr) return {};
  const Tensor &x = a.tensor, &y = b.tensor;
  if (!x.defined() || !y.defined() || x.dtype() != y.dtype() || x.dtype() == DType::kBool ||
      (op == OpId::kDiv && !is_float(x.dtype())) || !unseen(x, y)) {
    return {};
  }
  const bool first = gone(a) && fits(y.layout(), x.layout());
  if (!first && !(gone(b) && fits(x.layout(), y.layout()))) return {};
  const TensorView in[2] = {x.layout(), y.layout()};
  TensorView out[1] = {first ? in[0] : in[1]};
  if (Recorder* r = modes().recorder) [[unlikely]] {
    r->on_tensor(x);
    r->on_tensor(y);
  }
  const CallSite* site = modes().site;
  const uint32_t slot = first ? kInPlace : kInPlaceSecond;
  if (!run_kernel(op, nullptr, in, out, site != nullptr ? site->where : a.where, slot)) return {};
  return std::move(first ? *a.temporary : *b.temporary);
}

}  // namespace wick
