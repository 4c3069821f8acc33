// Hooks on tensors' gradients; internal to autograd (Tensor::register_hook is the public face).
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "trainer/tensor/tensor.h"

namespace wick {

struct SparseSlot;  // trainer/autograd/sparse_slot.h

// The hooks of one tensor, in order of registration.
struct TensorHooks {
  struct Before {
    uint64_t id;
    std::function<Tensor(const Tensor&)> f;
    Where where;  // of register_hook
  };
  struct After {
    uint64_t id;
    std::function<void(const Tensor&)> f;
  };
  std::vector<Before> before;  // run when the gradient has arrived; an undefined result keeps it
  std::vector<After> after;    // run when .grad of the leaf has been accumulated into
  // The tangent of forward mode, and the dual level that made it.
  Tensor tangent;
  uint64_t level = 0;
  // On a base: counts the writes that changed tangents of its bytes. On a view: the base's count at
  // which `tangent` was up to date.
  uint32_t tangent_writes = 0;
  std::shared_ptr<SparseSlot> sparse;  // a leaf's sparse gradient; null: none
};

// The hooks on a node's output tensors. A tensor that retains its gradient is not owned: it removes
// itself from this list when it is destroyed.
struct NodeHooks {
  struct Output {
    uint32_t nr;
    std::shared_ptr<TensorHooks> hooks;
    TensorImpl* retains = nullptr;
  };
  std::vector<Output> outputs;
};

// Registers a non-leaf's retain_grad on its grad_fn, and removes it.
void start_retaining(TensorImpl* t);
void stop_retaining(TensorImpl* t);

// Returns `g` after all hooks were applied, in order.
Tensor run_hooks(const TensorHooks& hooks, Tensor g);

}  // namespace wick
