// What a view remembers: the tensor it was taken from and the call that took it. Its history is
// that call over the parent's current history, made anew when the base was written into since.
#pragma once

#include <memory>

#include "runtime/ops/op_info.h"
#include "trainer/tensor/tensor_impl.h"

namespace wick {

enum class ViewKind : uint8_t {
  kNormal,
  kNoGrad,    // taken under NoGrad: not to be written, or used after a write, in gradient mode
  kBits,      // the same bytes under another dtype: no gradient passes
  kDetached,  // same bytes for a tracer, a base of its own for autograd
};

struct ViewInfo {
  IntrusivePtr<TensorImpl> parent;
  TensorImpl* root = nullptr;  // autograd's base; the parents keep it alive
  OpId op = OpId::kNone;
  ViewKind kind = ViewKind::kNormal;
  Where where;                  // of that call: what a history made anew, or an error, names
  uint32_t generation = 0;      // of the root's history that this view's was derived from
  uint32_t parent_reshape = 0;  // the parent's, when the view was taken

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

// `out`, whose bytes are `in`'s, becomes the view of it that this call made.
void track_view(const Tensor& out, const Tensor& in, OpId op, const void* attrs, const Where& where,
                ViewKind kind = ViewKind::kNormal);

// All of x as a view: another handle on its bytes, with a history of its own.
Tensor view_of_all(const Tensor& x, const Where& where);

// The tensor a view was taken from: what it was then, even when its shape was changed in place.
TensorImpl* view_parent(const ViewInfo& view);
// The base that holds the history of all views of its bytes; the tensor itself when it is no view.
TensorImpl* history_root(TensorImpl* t);

// The tensor whose bytes they are: through detach(), where a tracer watched it, too.
TensorImpl* bytes_root(TensorImpl* t);

// The op that puts a view's new value back into its parent, or a farther one.
struct ViewInverse {
  OpId op = OpId::kNone;
  bool replaces = false;  // op(parent's old value, view's new value); else op(view's new value)
  TensorImpl* parent = nullptr;  // the tensor that the result is the new value of
  AnyAttrs attrs;
};
// `root`: where the caller's chain of parents ends.
ViewInverse invert_view(TensorImpl* view, TensorImpl* root, const char* what, const Where& where);
// `part` as an AsStrided of `whole`, which is contiguous.
StridedAttrs strides_within(const TensorView& part, const TensorView& whole);

// After result's bytes went into target's: the target's history is now result's, its base's has it
// scattered in, and all other views of the base are stale.
void rebase_history(TensorImpl* target, const Tensor& result, const char* what, const Where& where);

}  // namespace wick
