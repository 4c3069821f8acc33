// Hooks on tensors' gradients; internal to autograd (Tensor::register_hook is the public face).
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "trainer/tensor/tensor.h"

namespace wick {

// Of one tensor; hooks in order of registration.
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
  std::vector<Before> before;  // the gradient arrived: an undefined result keeps it
  std::vector<After> after;    // .grad of the leaf has been added to
  // Forward mode's, of the dual level that made it.
  Tensor tangent;
  uint64_t level = 0;
  // Of a base: writes that changed tangents of its bytes. Of a view: its base's, when `tangent` was
  // right.
  uint32_t tangent_writes = 0;
};

// The hooks of a node's output tensors. A tensor that retains its gradient is not owned: it takes
// itself off this list when it dies.
struct NodeHooks {
  struct Output {
    uint32_t nr;
    std::shared_ptr<TensorHooks> hooks;
    TensorImpl* retains = nullptr;
  };
  std::vector<Output> outputs;
};

// Puts a non-leaf's retain_grad on its grad_fn, and takes it off.
void start_retaining(TensorImpl* t);
void stop_retaining(TensorImpl* t);

// `g` after the hooks, in order.
Tensor run_hooks(const TensorHooks& hooks, Tensor g);

}  // namespace wick
