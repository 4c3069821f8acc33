// torch.nn.functional: connectionist temporal classification (Graves et al., ICML 2006).
#pragma once

#include <vector>

#include "trainer/tensor/ops/losses.h"

namespace wick {

// -log of the probability that log_probs, read step by step with repetitions merged and blanks
// left out, say the target.
//   log_probs[T, N, C] or [T, C]: floats, log_softmax over C
//   targets: classes, int64 or int32: [N, S], rows padded; or [S of all], one after the other
//   input_lengths[N], target_lengths[N]: int64; 0-dim (or one number) beside [T, C]
// kMean divides each loss by its target's length (1 for an empty one), then takes the mean.
// A target that no path of its input spells costs infinity, its gradient is NaN; zero_infinity:
// both are 0. The gradient is that of the losses, to log_probs; through log_softmax it is
// PyTorch's. It is not differentiable again.
// Lengths beyond T or S, a class outside [0, C) and a blank in a target are errors that name the
// batch entry.
Tensor ctc_loss(const Arg& log_probs, const Arg& targets, const Tensor& input_lengths,
                const Tensor& target_lengths, int64_t blank = 0,
                Reduction reduction = Reduction::kMean, bool zero_infinity = false);
Tensor ctc_loss(const Arg& log_probs, const Arg& targets, const std::vector<int64_t>& input_lengths,
                const std::vector<int64_t>& target_lengths, int64_t blank = 0,
                Reduction reduction = Reduction::kMean, bool zero_infinity = false);

}  // namespace wick
