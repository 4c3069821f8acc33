// Gradient checkpointing: what a function would keep for backward is thrown away and made again,
// by running it a second time, when backward asks. The graph is that of the plain run, so gradients
// are equal to its bit for bit, also to any order, nested, and for parameters the function
// captured.
#pragma once

#include <functional>
#include <vector>

#include "trainer/tensor/tensor.h"

namespace wick {

// f(inputs). f must compute the same again: it sees the random numbers of the first run
// (preserve_rng_state) and the inputs as they were, which is checked; modules with running
// statistics update them twice, as in PyTorch. Inputs of any dtype.
std::vector<Tensor> checkpoint(std::function<std::vector<Tensor>(const std::vector<Tensor>&)> f,
                               const std::vector<Tensor>& inputs, bool preserve_rng_state = true,
                               Where where = Where::current());
Tensor checkpoint(std::function<Tensor(const Tensor&)> f, const Arg& x,
                  bool preserve_rng_state = true);
// The functions one after the other, cut into `segments` runs of about equal length, each of them a
// checkpoint but the last.
Tensor checkpoint_sequential(const std::vector<std::function<Tensor(const Tensor&)>>& functions,
                             size_t segments, const Arg& x, bool preserve_rng_state = true);

void forget_recomputed();  // the engine's, when the thread's outermost run is over

}  // namespace wick
