// Where gradients end: sums beside .grad, and .grad itself.
#pragma once

#include <functional>
#include <utility>

#include "trainer/tensor/tensor.h"

namespace wick {

// Adds `g` into `slot`. The slot's own bytes are reused where nobody else sees them.
void add_into(Tensor* slot, Tensor g, bool create_graph);

// Of all n before the first is added to; at(i): the tensor and its gradient. Throws Error where
// one's shape or dtype is no longer the tensor's, or its .grad's.
using GradAt = std::function<std::pair<const TensorImpl*, const Tensor*>(size_t)>;
void check_grads(const Where& where, size_t n, const GradAt& at);

// .grad of a tensor: always bytes of its own.
void add_to_grad(TensorImpl* leaf, Tensor g, bool create_graph, const Where& where);
void run_after_hooks(TensorImpl* leaf);

}  // namespace wick
