// Gradient checkpointing: the tensors that a function would save for backward are dropped, and
// recomputed by running the function again when backward asks for them. The graph is that of the
// plain run, so the gradients are equal to its bit for bit, also at any order, in nested
// checkpoints, and for parameters that the function captured.
#pragma once

#include <functional>
#include <vector>

#include "trainer/tensor/tensor.h"

namespace wick {

// Returns f(inputs); inputs may have any dtype. f must compute the same values again: the second
// run sees the random numbers of the first (preserve_rng_state) and the unchanged inputs, which is
// checked. Modules with running statistics update them twice, as in PyTorch.
std::vector<Tensor> checkpoint(std::function<std::vector<Tensor>(const std::vector<Tensor>&)> f,
                               const std::vector<Tensor>& inputs, bool preserve_rng_state = true,
                               Where where = Where::current());
Tensor checkpoint(std::function<Tensor(const Tensor&)> f, const Arg& x,
                  bool preserve_rng_state = true);
// Calls the functions one after the other, cut into `segments` runs of about equal length. Each run
// except the last is a checkpoint.
Tensor checkpoint_sequential(const std::vector<std::function<Tensor(const Tensor&)>>& functions,
                             size_t segments, const Arg& x, bool preserve_rng_state = true);

void forget_recomputed();  // called by the engine when the thread's outermost backward ends

}  // namespace wick
