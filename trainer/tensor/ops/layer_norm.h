// Layer norm as one node of the graph; not public: layer_norm() of ops/nn.h is.
#pragma once

#include "trainer/tensor/tensor.h"

namespace wick::detail {

// Over the last `row_dims` dims of float32 x; weight and bias of their shape, or undefined. Keeps x
// and weight for backward, where the parts (difference, root, quotient) are computed again; the
// bits of the forward pass are those of the parts.
Tensor native_layer_norm(const Arg& x, int row_dims, const Tensor& weight, const Tensor& bias,
                         double eps);

}  // namespace wick::detail
