// torch.nn.functional: functions that draw a mask or a slope for each element in training.
#pragma once

#include "trainer/tensor/ops/common.h"

namespace wick {

// Dropped elements take SELU's lower bound; then scaled and shifted so that mean 0 and variance 1
// stay. p in [0, 1].
Tensor alpha_dropout(const Arg& x, double p = 0.5, bool training = false);
// Whole channels of x[N, C, ...].
Tensor feature_alpha_dropout(const Arg& x, double p = 0.5, bool training = false);
// x where x >= 0, else slope x: a slope a element from [lower, upper) in training, their mean else.
Tensor rrelu(const Arg& x, double lower = 1.0 / 8, double upper = 1.0 / 3, bool training = false);

}  // namespace wick
