// Products and decompositions of matrices.
#pragma once

#include "trainer/tensor/ops/common.h"

namespace wick {

// -- matrices: a[..., m, k] x b[..., k, n] of one dtype; a vector is a row (a) or a column (b)
Tensor matmul(const Arg& a, const Arg& b);
// x[..., in] weight[out, in] + bias[out]
Tensor linear(const Arg& x, const Arg& weight, const Tensor& bias = Tensor());

}  // namespace wick
