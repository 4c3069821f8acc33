// TensorImpl: what a Tensor is a handle on, with the fields of autograd; not public.
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
  bool requires_grad = false;  // true also for results of recorded ops
  uint32_t output_nr = 0;      // which output of grad_fn this is
  IntrusivePtr<Node> grad_fn;  // null: a leaf
  IntrusivePtr<TensorImpl> grad;
  std::shared_ptr<TensorHooks> hooks;  // a leaf's; those of a result are its node's
  bool retains_grad = false;           // a result's gradient is kept in .grad too
  bool inference = false;              // made under InferenceMode
  bool operand = false;                // an in-place write's old value: saved as this handle
  std::string name;
  std::unique_ptr<ViewInfo> view_of;  // null: not a view, nothing to keep up to date
  uint32_t generation = 0;            // of this base's history: raised when a write changes it
  uint32_t reshapes = 0;              // how often the shape was changed in place

  static void* operator new(size_t bytes);
  static void operator delete(void* block);
};

inline TensorImpl* Tensor::impl() const { return static_cast<TensorImpl*>(impl_.get()); }

// Brings a view's requires_grad and grad_fn up to its base. Everything that reads them does this
// first.
void refresh_view(TensorImpl* t);
inline void refresh_history(TensorImpl* t) {
  if (t->view_of) refresh_view(t);
}

// Tensor::requires_grad() where every call of an op asks.
inline bool requires_grad_of(const Tensor& t) {
  if (!t.defined()) return false;
  refresh_history(t.impl());
  return t.impl()->requires_grad;
}

}  // namespace wick
