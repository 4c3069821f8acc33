// torch.nn.functional: connectionist temporal classification (Graves et al., ICML 2006).
#pragma once

#include <vector>

#include "trainer/tensor/ops/loss/losses.h"

namespace wick {

// Returns -log of the probability that log_probs, read step by step with repetitions merged and
// blanks removed, give the target.
//   log_probs[T, N, C] or [T, C]: floats, log_softmax over C
//   targets: classes, int64 or int32: [N, S], rows padded; or [S of all], concatenated
//   input_lengths[N], target_lengths[N]: int64; 0-dim (or one number) for [T, C]
// kMean divides each loss by its target's length (1 for an empty one), then takes the mean. A
// target that no path of its input gives has an infinite loss and a NaN gradient; with
// zero_infinity both are 0. The gradient is with respect to log_probs; through log_softmax it
// equals PyTorch's. It is not differentiable again. Throws Error for lengths beyond T or S, a class
// outside of [0, C), and a blank in a target, and names the batch entry.
Tensor ctc_loss(const Arg& log_probs, const Arg& targets, const Tensor& input_lengths,
                const Tensor& target_lengths, int64_t blank = 0,
                Reduction reduction = Reduction::kMean, bool zero_infinity = false);
Tensor ctc_loss(const Arg& log_probs, const Arg& targets, const std::vector<int64_t>& input_lengths,
                const std::vector<int64_t>& target_lengths, int64_t blank = 0,
                Reduction reduction = Reduction::kMean, bool zero_infinity = false);

}  // namespace wick
