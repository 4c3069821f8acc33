#include "trainer/tensor/view_info.h"

#include <cstring>
#include <new>
#include <vector>

#include "runtime/ops/op_info.h"
#include "trainer/autograd/hooks.h"
#include "trainer/autograd/node.h"
#include "trainer/tensor/internal.h"

namespace wick {
namespace {

bool is_history_view(const TensorImpl* t) {
  return t->view_of && t->view_of->kind != ViewKind::kDetached;
}

void take_history(TensorImpl* t, const Tensor& from) {
  bool retains = t->retains_grad;
  if (retains) stop_retaining(t);
  t->grad_fn = from.impl()->grad_fn;
  t->output_nr = from.impl()->output_nr;
  t->requires_grad = from.impl()->requires_grad;
  if (retains && t->grad_fn) start_retaining(t);
}

// A handle on the bytes of `like` that a tape entry can give a history to.
Tensor blank(const TensorImpl* like) {
  IntrusivePtr<TensorImpl> impl(new TensorImpl);
  impl->storage = like->storage;
  impl->view = like->view;
  return Tensor(std::move(impl));
}

}  // namespace

std::unique_ptr<ViewInfo> ViewInfo::create(OpId op, const void* attrs) {
  size_t bytes = find_op(op)->attrs->size;
  std::unique_ptr<ViewInfo> v(new (bytes) ViewInfo);
  v->op = op;
  if (bytes > 0) memcpy(static_cast<void*>(v.get() + 1), attrs, bytes);
  return v;
}

// A chain of views of views is unwound here: freed by recursion it could exhaust the stack.
ViewInfo::~ViewInfo() {
  IntrusivePtr<TensorImpl> next = std::move(parent);
  while (next && next->unique() && next->view_of) {
    IntrusivePtr<TensorImpl> after = std::move(next->view_of->parent);
    next = std::move(after);
  }
}

void track_view(const Tensor& out, const Tensor& in, OpId op, const void* attrs, ViewKind kind) {
  TensorImpl *to = out.impl(), *from = in.impl();
  to->view_of = ViewInfo::create(op, attrs);
  ViewInfo& v = *to->view_of;
  v.parent = in.handle();
  v.kind = kind;
  if (kind == ViewKind::kNormal && is_history_view(from) &&
      from->view_of->kind != ViewKind::kNormal) {
    v.kind = from->view_of->kind;
  }
  if (v.kind == ViewKind::kNormal && !grad_enabled()) v.kind = ViewKind::kNoGrad;
  v.root = history_root(from);
  v.generation = v.root->generation;
  v.parent_reshape = from->reshapes;
}

TensorImpl* view_parent(const ViewInfo& view) {
  TensorImpl* p = view.parent.get();
  while (p->reshapes != view.parent_reshape) p = p->view_of->parent.get();
  return p;
}

TensorImpl* history_root(TensorImpl* t) {
  while (is_history_view(t)) t = t->view_of->root;
  return t;
}

void refresh_view(TensorImpl* t, const Where& where) {
  if (!is_history_view(t)) return;
  TensorImpl* root = history_root(t);
  std::vector<TensorImpl*> stale;  // innermost last; a loop, as chains may be long
  for (TensorImpl* v = t; is_history_view(v) && v->view_of->generation != root->generation;
       v = view_parent(*v->view_of)) {
    stale.push_back(v);
  }
  while (!stale.empty()) {
    TensorImpl* v = stale.back();
    stale.pop_back();
    ViewInfo& info = *v->view_of;
    if (info.kind == ViewKind::kNoGrad && root->requires_grad) {
      throw_error("view",
                  "the view was taken under NoGrad and its base was written in gradient mode "
                  "since: take the view outside of NoGrad, or detach() it",
                  where);
    }
    Tensor out = blank(v);
    if (root->requires_grad && info.kind == ViewKind::kNormal) {
      Tensor parent{IntrusivePtr<TensorImpl>(view_parent(info))};
      const Tensor* in[] = {&parent};
      record(info.op, info.attrs(), in, {&out, 1}, where);
    }
    take_history(v, out);
    info.generation = root->generation;
  }
}

void rebase_history(TensorImpl* target, const Tensor& result, const char* what,
                    const Where& where) {
  if (is_history_view(target)) {
    throw_error(what, "a write through a view is not recorded: use an out-of-place op", where);
  }
  if (result.requires_grad()) {
    take_history(target, result);
  } else {
    // Nothing flows back, but the tensor stays one that requires grad.
    target->requires_grad = false;
    target->grad_fn = {};
  }
  ++target->generation;
}

void Tensor::up_to_date(const Where& where) const { refresh_history(impl_.get(), where); }

}  // namespace wick
