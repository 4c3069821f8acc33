// Layer norm as one graph node; not public, unlike layer_norm() in ops/nn.h.
#pragma once

#include "trainer/tensor/tensor.h"

namespace wick::detail {

// Normalizes the last `row_dims` dims of float32 x; weight and bias have their shape, or are
// undefined. It saves x and weight for backward, where the intermediate values (difference, root,
// quotient) are computed again; the bits of the forward pass are those of the separate ops.
Tensor native_layer_norm(const Arg& x, int row_dims, const Tensor& weight, const Tensor& bias,
                         double eps);

}  // namespace wick::detail
