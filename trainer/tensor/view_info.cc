#include "trainer/tensor/view_info.h"

#include <cstring>
#include <new>
#include <vector>

#include "runtime/ops/op_info.h"
#include "runtime/registry/registry.h"
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

// Returns a new handle on the bytes of `like`, which record() can give a history.
Tensor blank(const TensorImpl* like) {
  IntrusivePtr<TensorImpl> impl(new TensorImpl);
  impl->storage = like->storage;
  impl->view = like->view;
  return Tensor(std::move(impl));
}

}  // namespace

std::unique_ptr<ViewInfo> ViewInfo::create(OpId op, const void* attrs) {
  size_t bytes = op_info(op)->attrs->size;
  std::unique_ptr<ViewInfo> v(new (bytes) ViewInfo);
  v->op = op;
  if (bytes > 0) memcpy(static_cast<void*>(v.get() + 1), attrs, bytes);
  return v;
}

// Unwinds a chain of views of views: freeing it by recursion could exhaust the stack.
ViewInfo::~ViewInfo() {
  IntrusivePtr<TensorImpl> next = std::move(parent);
  while (next && next->unique() && next->view_of) {
    IntrusivePtr<TensorImpl> after = std::move(next->view_of->parent);
    next = std::move(after);
  }
}

void track_view(const Tensor& out, const Tensor& in, OpId op, const void* attrs, const Where& where,
                ViewKind kind) {
  TensorImpl *to = out.impl(), *from = in.impl();
  to->view_of = ViewInfo::create(op, attrs);
  ViewInfo& v = *to->view_of;
  v.parent = IntrusivePtr<TensorImpl>(from);
  v.kind = kind;
  v.where = where;
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

TensorImpl* bytes_root(TensorImpl* t) {
  while (t->view_of) t = view_parent(*t->view_of);
  return t;
}

TensorImpl* history_root(TensorImpl* t) {
  while (is_history_view(t)) t = t->view_of->root;
  return t;
}

void refresh_view(TensorImpl* t) {
  if (!is_history_view(t)) return;
  TensorImpl* root = history_root(t);
  std::vector<TensorImpl*> stale;  // innermost last; a loop, because chains may be long
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
                  info.where);
    }
    TensorImpl* from = view_parent(info);
    if (!(from->storage == v->storage)) {
      throw_error("view", "the tensor it was taken from was given other bytes since", info.where);
    }
    Tensor out = blank(v);
    if (root->requires_grad && info.kind == ViewKind::kNormal) {
      Tensor parent{IntrusivePtr<TensorImpl>(from)};
      const Tensor* in[] = {&parent};
      record(info.op, info.attrs(), in, {&out, 1}, info.where);
    }
    take_history(v, out);
    info.generation = root->generation;
  }
}

namespace {

// Records a call without computing it: the bytes of `like` have the result already.
Tensor taped(OpId op, const void* attrs, Span<const Tensor* const> in, const TensorImpl* like,
             const Where& where) {
  Tensor out = blank(like);
  record(op, attrs, in, {&out, 1}, where);
  return out;
}

}  // namespace

StridedAttrs strides_within(const TensorView& part, const TensorView& whole) {
  StridedAttrs a;
  a.sizes = DimList(part.shape.dims());
  for (int i = 0; i < part.rank(); ++i) a.strides.values[a.strides.count++] = part.strides[i];
  if (part.numel() > 0) {
    // NOLINTNEXTLINE(clang-analyzer-core.DivideZero): elements of a tensor have a size
    a.offset = (static_cast<const char*>(part.data) - static_cast<const char*>(whole.data)) /
               static_cast<int64_t>(dtype_size(whole.dtype));
  }
  return a;
}

ViewInverse invert_view(TensorImpl* view, TensorImpl* root, const char* what, const Where& where) {
  // Above an expanded dimension one element is at several places: then the value is put directly
  // into the memory below it.
  TensorImpl* below = nullptr;
  for (TensorImpl* v = view; v != root;) {
    TensorImpl* p = view_parent(*v->view_of);
    if (p->view.numel() < v->view.numel() && v->view_of->op != OpId::kAsStrided) below = p;
    v = p;
  }
  ViewInverse inverse;
  if (below != nullptr) {
    while (!below->view.contiguous() && below != root) below = view_parent(*below->view_of);
    if (!below->view.contiguous())
      throw_error(what, "the write through this view cannot be recorded: clone() its base", where);
    inverse = {OpId::kAsStridedScatter, true, below, {}};
    inverse.attrs = AnyAttrs::of(strides_within(view->view, below->view));
    return inverse;
  }
  const ViewInfo& info = *view->view_of;
  inverse = {info.op, false, view_parent(info), {}};
  if (info.op == OpId::kTranspose) {
    const auto& perm = static_cast<const TransposeAttrs*>(info.attrs())->perm;
    TransposeAttrs back;
    back.perm.count = perm.count;
    for (int64_t i = 0; i < perm.count; ++i) back.perm.values[perm[i]] = i;
    inverse.attrs = AnyAttrs::of(back);
  } else if (info.op == OpId::kSlice || info.op == OpId::kAsStrided) {
    inverse.op = info.op == OpId::kSlice ? OpId::kSliceScatter : OpId::kAsStridedScatter;
    inverse.replaces = true;
    memcpy(inverse.attrs.get(), info.attrs(), op_info(info.op)->attrs->size);
  } else if (info.op != OpId::kIdentity) {  // the same elements in order with another shape
    ReshapeAttrs back;
    back.shape = DimList(inverse.parent->view.shape.dims());
    back.allowzero = 1;
    inverse.op = OpId::kReshape;
    inverse.attrs = AnyAttrs::of(back);
  }
  return inverse;
}

// Returns `t` fixed to its present history, if a change of `root` would change that.
static Tensor with_history_of(const Tensor& t, const TensorImpl* root) {
  refresh_history(t.impl());
  if (!is_history_view(t.impl()) || history_root(t.impl()) != root) return t;
  Tensor fixed = blank(t.impl());
  fixed.impl()->requires_grad = t.impl()->requires_grad;
  fixed.impl()->grad_fn = t.impl()->grad_fn;
  fixed.impl()->output_nr = t.impl()->output_nr;
  return fixed;
}

void rebase_history(TensorImpl* target, const Tensor& written, const char* what,
                    const Where& where) {
  TensorImpl* root = history_root(target);
  Tensor result = with_history_of(written, root), value = result;
  for (TensorImpl* at = target; at != root;) {
    ViewInverse inverse = invert_view(at, root, what, where);
    refresh_history(inverse.parent);
    Tensor old{IntrusivePtr<TensorImpl>(inverse.parent)};
    const Tensor* both[] = {&old, &value};
    const Tensor* one[] = {&value};
    Span<const Tensor* const> in =
        inverse.replaces ? Span<const Tensor* const>(both, 2) : Span<const Tensor* const>(one, 1);
    value = taped(inverse.op, inverse.attrs.get(), in, inverse.parent, where);
    at = inverse.parent;
  }
  if (!value.requires_grad()) {
    // Nothing of the old value is left, but the base remains a tensor that requires grad.
    Tensor old{IntrusivePtr<TensorImpl>(root)};
    const Tensor* in[] = {&old, &value};
    SliceAttrs all;
    value = taped(OpId::kSliceScatter, &all, in, root, where);
  }
  take_history(root, value);
  ++root->generation;
  if (target == root || !result.requires_grad()) return;  // derived from the base when needed
  take_history(target, result);
  target->view_of->generation = root->generation;
}

}  // namespace wick
