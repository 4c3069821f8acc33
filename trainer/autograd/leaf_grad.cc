#include "trainer/autograd/leaf_grad.h"

#include <mutex>

#include "trainer/autograd/hooks.h"
#include "trainer/autograd/sparse_slot.h"
#include "trainer/tensor/device/vulkan_memory.h"
#include "trainer/tensor/internal.h"
#include "trainer/tensor/modes.h"
#include "trainer/tensor/ops.h"
#include "trainer/tensor/recorder.h"
#include "trainer/tensor/view_info.h"

namespace wick {
namespace {

// Backwards of several threads may end in the same leaf.
constinit std::mutex g_leaf_mutex;

// Throws if `g` differs in shape or dtype from `t` or its .grad, which may have changed since the
// graph was recorded.
void check_grad(const TensorImpl* t, const Tensor& g, const Where& where) {
  auto differs = [&](const TensorView& v) {
    return v.dtype != g.dtype() || !(v.shape == g.raw_shape());
  };
  auto text = [](DType dtype, const Shape& shape) {
    return dtype_name(dtype) + std::string(to_text(shape).text);
  };
  const bool old = t->grad && differs(t->grad->view);
  if (!old && !differs(t->view)) return;
  const TensorView& v = old ? t->grad->view : t->view;
  throw_error("backward",
              "the gradient of " + (t->name.empty() ? "a tensor" : "'" + t->name + "'") + " is " +
                  text(g.dtype(), g.raw_shape()) +
                  (old ? ", its .grad from before " + text(v.dtype, v.shape) +
                             ": clear that with set_grad(Tensor())"
                       : ", the tensor by now " + text(v.dtype, v.shape) +
                             ": it was changed after the graph was recorded"),
              where, Code::kShapeMismatch);
}

}  // namespace

bool sole_owner(const Tensor& t) {
  return t.impl()->unique() && t.impl()->storage->unique() && t.is_contiguous();
}

void add_into(Tensor* slot, Tensor g, bool create_graph) {
  create_graph = create_graph || modes().forward != 0;  // an in-place sum has no tangent
  if (!slot->defined()) {
    *slot = std::move(g);
  } else if (!create_graph && sole_owner(*slot) && slot->raw_shape() == g.raw_shape()) {
    accumulate(*slot, g);
  } else {
    *slot = add(*slot, g);
  }
}

void check_grads(const Where& where, size_t n, const GradAt& at) {
  std::lock_guard lock(g_leaf_mutex);
  for (size_t i = 0; i < n; ++i) {
    const auto [t, g] = at(i);
    if (g->defined()) check_grad(t, *g, where);
  }
}

// The caller holds g_leaf_mutex.
static void add_locked(TensorImpl* leaf, Tensor g, bool create_graph, const Where& where) {
  check_grad(leaf, g, where);
  GradMode mode(create_graph);
  if (SparseSlot* slot = sparse_slot(leaf)) {  // rows of before become a part of the sum
    g = add(g, slot->grad.to_dense());
    set_sparse_slot(leaf, {});
  }
  Tensor now = leaf->grad ? Tensor(leaf->grad) : Tensor();
  if (!now.defined()) {
    if (!sole_owner(g)) g = g.clone();
    leaf->grad = IntrusivePtr<TensorImpl>(g.impl());
  } else if (create_graph) {
    leaf->grad = IntrusivePtr<TensorImpl>(add(now, g).impl());
    leaf->grad->storage->accumulated_from(now.storage());
  } else if (overlaps_itself(now.layout())) {  // by set_grad() of an expanded tensor
    leaf->grad = IntrusivePtr<TensorImpl>(add(now, g).impl());
  } else {
    now.storage().bump_accumulated();
    if (now.is_contiguous()) {
      accumulate(now, g);
    } else {
      copy_bytes(add(now, g), now, where);
    }
  }
}

void add_to_grad(TensorImpl* leaf, Tensor g, bool create_graph, const Where& where) {
  std::lock_guard lock(g_leaf_mutex);
  add_locked(leaf, std::move(g), create_graph, where);
}

void check_rows(const Tensor& leaf, const SparseGrad& rows, const Where& where) {
  const SparseSlot* old = sparse_slot(leaf.impl());
  const bool same = leaf.dtype() == rows.dtype() && leaf.raw_shape() == rows.shape();
  if (same && (old == nullptr || old->grad.dtype() == rows.dtype())) return;
  throw_error("backward",
              gradient_of_text(leaf.impl()) + " is of a table " + dtype_name(rows.dtype()) +
                  to_text(rows.shape()).text + ", which is by now " + dtype_name(leaf.dtype()) +
                  to_text(leaf.raw_shape()).text + ": it was changed after the graph was recorded",
              where, Code::kShapeMismatch);
}

void add_rows(const Tensor& leaf, const SparseGrad& rows, const Where& where) {
  // The leaf is looked at under the lock: another thread may give it a dense gradient meanwhile.
  std::lock_guard lock(g_leaf_mutex);
  if (leaf.impl()->grad) return add_locked(leaf.impl(), rows.to_dense(), false, where);
  const SparseSlot* old = sparse_slot(leaf.impl());
  set_sparse_slot(leaf.impl(), old == nullptr ? rows : old->grad.plus(rows));
}

void run_after_hooks(TensorImpl* leaf) {
  if (!leaf->hooks) return;
  auto list = leaf->hooks->after;  // a hook may remove itself
  if (!list.empty()) {
    note_break("register_post_accumulate_grad_hook",
               "runs a hook of a tensor in backward, which is code of the program",
               "do it behind backward(), or remove the hook", Where());
  }
  for (const TensorHooks::After& h : list) h.f(Tensor(IntrusivePtr<TensorImpl>(leaf)));
}

}  // namespace wick
