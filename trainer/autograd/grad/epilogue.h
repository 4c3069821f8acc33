// A fused op's unfused meaning beyond its bias: scale, shift, residual, activation.
#pragma once

#include "trainer/tensor/ops.h"

namespace wick {

// in: the fused op's inputs; channels lie on dim `channel` of y.
Tensor unfused_epilogue(Tensor y, const std::vector<Tensor>& in, int channel,
                        const EpilogueAttrs& e);

}  // namespace wick
