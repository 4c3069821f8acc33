// The record of a view: the tensor it was taken from and the call that took it. Its history is that
// call on the parent's current history, derived again if the base was written to since.
#pragma once

#include <memory>

#include "runtime/ops/op_info.h"
#include "trainer/tensor/tensor_impl.h"

namespace wick {

enum class ViewKind : uint8_t {
  kNormal,
  kNoGrad,    // taken under NoGrad: in gradient mode not to be written to, or used after a write
  kBits,      // the same bytes with another dtype: no gradient passes
  kDetached,  // shares bytes for a tracer, but is a separate base for autograd
};

struct ViewInfo {
  IntrusivePtr<TensorImpl> parent;
  TensorImpl* root = nullptr;  // autograd's base; the parents keep it alive
  OpId op = OpId::kNone;
  ViewKind kind = ViewKind::kNormal;
  Where where;                  // of that call: named by a history derived again, and by errors
  uint32_t generation = 0;      // of the root's history from which this view's was derived
  uint32_t parent_reshape = 0;  // the parent's `reshapes` when the view was taken

  // The op's attribute struct follows the object.
  const void* attrs() const { return this + 1; }
  static std::unique_ptr<ViewInfo> create(OpId op, const void* attrs);
  ~ViewInfo();
  // NOLINTNEXTLINE(misc-new-delete-overloads): of create(), whose new is the one below
  static void operator delete(void* p) { ::operator delete(p); }

 private:
  ViewInfo() = default;
  static void* operator new(size_t size, size_t extra) { return ::operator new(size + extra); }
  static void operator delete(void* p, size_t) { ::operator delete(p); }
};

// Marks `out`, which shares the bytes of `in`, as the view of it that this call made.
void track_view(const Tensor& out, const Tensor& in, OpId op, const void* attrs, const Where& where,
                ViewKind kind = ViewKind::kNormal);

// Returns all of x as a view: another handle on its bytes, with its own history.
Tensor view_of_all(const Tensor& x, const Where& where);

// Returns the tensor that a view was taken from, as it was then, even if its shape was changed in
// place.
TensorImpl* view_parent(const ViewInfo& view);
// Returns the base that holds the history of all views of its bytes; the tensor itself if it is not
// a view.
TensorImpl* history_root(TensorImpl* t);

// Returns the tensor that owns the bytes; also through detach(), if a tracer observed that.
TensorImpl* bytes_root(TensorImpl* t);

// The op that puts a view's new value back into its parent, or an earlier ancestor.
struct ViewInverse {
  OpId op = OpId::kNone;
  bool replaces = false;  // op(parent's old value, view's new value); else op(view's new value)
  TensorImpl* parent = nullptr;  // the tensor whose new value is the result
  AnyAttrs attrs;
};
// `root`: the end of the caller's chain of parents.
ViewInverse invert_view(TensorImpl* view, TensorImpl* root, const char* what, const Where& where);
// Returns `part` as an AsStrided of `whole`, which must be contiguous.
StridedAttrs strides_within(const TensorView& part, const TensorView& whole);

// Called after result's bytes were written into target's: the target gets the result's history, its
// base gets that with the result scattered in, and all other views of the base become stale.
void rebase_history(TensorImpl* target, const Tensor& result, const char* what, const Where& where);

}  // namespace wick
