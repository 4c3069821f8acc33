// The end of a backward: accumulates gradients into sums and into the .grad of tensors.
#pragma once

#include <functional>
#include <utility>

#include "trainer/tensor/tensor.h"

namespace wick {

// Adds `g` to `slot`, in place if nothing else shares the slot's bytes.
void add_into(Tensor* slot, Tensor g, bool create_graph);

// Checks all n gradients before the first one is accumulated; at(i) returns the tensor and its
// gradient. Throws Error if the shape or dtype of one differs from that of the tensor now, or from
// that of its .grad.
using GradAt = std::function<std::pair<const TensorImpl*, const Tensor*>(size_t)>;
void check_grads(const Where& where, size_t n, const GradAt& at);

// Accumulates `g` into .grad of a tensor. .grad never shares its bytes with another tensor.
void add_to_grad(TensorImpl* leaf, Tensor g, bool create_graph, const Where& where);
void run_after_hooks(TensorImpl* leaf);

}  // namespace wick
