// The end of a backward: accumulates gradients into sums and into the .grad of tensors.
#pragma once

#include <functional>
#include <utility>

#include "trainer/autograd/sparse_grad.h"
#include "trainer/tensor/tensor.h"

namespace wick {

// Returns whether `t` is the only handle on its bytes, so that they may be overwritten or kept.
bool sole_owner(const Tensor& t);

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

// Called by a formula: rows of the gradient of `leaf`, which the innermost run of this thread adds
// to the leaf's when it is over, as it does with .grad. Throws Error where no run collects into
// leaves (grad()), or with create_graph: a sparse gradient has no history.
void deliver_rows(const Tensor& leaf, SparseGrad rows, const Where& where);
// Throws Error if the leaf's shape or dtype is no longer that of the rows.
void check_rows(const Tensor& leaf, const SparseGrad& rows, const Where& where);
// Adds them: to a dense .grad if there is one.
void add_rows(const Tensor& leaf, const SparseGrad& rows, const Where& where);

}  // namespace wick
