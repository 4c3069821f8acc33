// Clipping by the norm of gradients that lie on several ranks. Internal.
#pragma once

#include <vector>

#include "trainer/distributed/comm/communicator.h"
#include "trainer/tensor/tensor.h"

namespace wick::distributed {

// Scales `scaled` by max_norm / (norm + 1e-6) if that is less than 1, and returns the norm: of
// `terms_of`, of which each of the ranks has others (null: this one has all). The sum is made
// without rounding, so that it does not matter which rank has which.
double clip_gradients(const std::vector<Tensor>& terms_of, const std::vector<Tensor>& scaled,
                      Communicator* ranks, double max_norm, double norm_type, const Where& where);

}  // namespace wick::distributed
