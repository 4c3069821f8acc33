// Computes the epilogue of a fused op in separate ops: scale, shift, residual, activation (its bias
// is the caller's part).
#pragma once

#include "trainer/tensor/ops.h"

namespace wick {

// in: the fused op's inputs. Channels are on dim `channel` of y.
Tensor unfused_epilogue(Tensor y, const std::vector<Tensor>& in, int channel,
                        const EpilogueAttrs& e);

}  // namespace wick
