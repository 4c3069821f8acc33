// TensorImpl: the object behind a Tensor handle, with the fields of autograd; not public.
#pragma once

#include <memory>
#include <string>

#include "trainer/tensor/tensor.h"

namespace wick {

class Node;
struct TensorHooks;
struct ViewInfo;

class TensorImpl final : public TensorCore {
 public:
  TensorImpl();
  ~TensorImpl();

  using TensorCore::dispose;
  using TensorCore::id;
  using TensorCore::storage;
  using TensorCore::view;
  bool requires_grad = false;  // also true for results of recorded ops
  uint32_t output_nr = 0;      // index among grad_fn's outputs
  IntrusivePtr<Node> grad_fn;  // null: a leaf
  IntrusivePtr<TensorImpl> grad;
  std::shared_ptr<TensorHooks> hooks;  // those of a leaf; a result's are on its node
  bool retains_grad = false;           // a result that keeps its gradient in .grad too
  bool inference = false;              // made under InferenceMode
  bool operand = false;                // the old value of an in-place write: saved as this handle
  std::string name;
  std::unique_ptr<ViewInfo> view_of;  // null: not a view
  uint32_t generation = 0;            // of this base's history: incremented when a write changes it
  uint32_t reshapes = 0;              // number of in-place changes of the shape

  static void* operator new(size_t bytes);
  static void operator delete(void* block);
};

inline TensorImpl* Tensor::impl() const { return static_cast<TensorImpl*>(impl_.get()); }

// Updates a view's requires_grad and grad_fn from its base. All code that reads them calls this
// first.
void refresh_view(TensorImpl* t);
inline void refresh_history(TensorImpl* t) {
  if (t->view_of) refresh_view(t);
}

// Tensor::requires_grad() for the hot path of every op call.
inline bool requires_grad_of(const Tensor& t) {
  if (!t.defined()) return false;
  refresh_history(t.impl());
  return t.impl()->requires_grad;
}

}  // namespace wick
