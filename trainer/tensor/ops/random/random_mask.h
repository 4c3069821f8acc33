// torch.nn.functional: functions with a random mask or slope per element in training mode.
#pragma once

#include "trainer/tensor/ops/common.h"
#include "trainer/tensor/philox.h"

namespace wick {

// Dropped elements get SELU's lower bound; then the result is scaled and shifted so that mean 0 and
// variance 1 are preserved. p in [0, 1].
Tensor alpha_dropout(const Arg& x, double p = 0.5, bool training = false);
// The same for whole channels of x[N, C, ...].
Tensor feature_alpha_dropout(const Arg& x, double p = 0.5, bool training = false);
// x where x >= 0, else slope * x: a random slope per element from [lower, upper) in training mode,
// otherwise their mean.
Tensor rrelu(const Arg& x, double lower = 1.0 / 8, double upper = 1.0 / 3, bool training = false);

// A differentiable draw of classes: softmax((logits + Gumbel noise) / tau) along dim; hard:
// one-hot, with the gradient of the soft draw (Jang et al. 2017).
Tensor gumbel_softmax(const Arg& logits, double tau = 1, bool hard = false, int dim = -1,
                      Generator& g = default_generator());

}  // namespace wick
