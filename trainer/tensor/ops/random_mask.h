// torch.nn.functional: functions with a random mask or slope per element in training mode.
#pragma once

#include "trainer/tensor/ops/common.h"

namespace wick {

// Dropped elements get SELU's lower bound; then the result is scaled and shifted so that mean 0 and
// variance 1 are preserved. p in [0, 1].
Tensor alpha_dropout(const Arg& x, double p = 0.5, bool training = false);
// The same for whole channels of x[N, C, ...].
Tensor feature_alpha_dropout(const Arg& x, double p = 0.5, bool training = false);
// x where x >= 0, else slope * x: a random slope per element from [lower, upper) in training mode,
// otherwise their mean.
Tensor rrelu(const Arg& x, double lower = 1.0 / 8, double upper = 1.0 / 3, bool training = false);

}  // namespace wick
