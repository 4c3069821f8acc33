// Group norm as one graph node; not public, unlike group_norm() in ops/nn.h.
#pragma once

#include "trainer/tensor/compose.h"

namespace wick::detail {

// group_norm() in ops that are seen one by one, of x[N, C, ...] and any float dtype; weight and
// bias are [C], or undefined. In ops/nn.cc.
Tensor group_norm_ops(const Tensor& x, int64_t groups, const Tensor& weight, const Tensor& bias,
                      double eps, const At& at);

// Returns whether one node takes their place: where the ops need not be visible, for float32.
bool is_native_group_norm(const Tensor& x, int64_t groups, const Tensor& weight,
                          const Tensor& bias);
// That node: it saves x and weight, and its result and gradients have the bits of the ops.
Tensor native_group_norm(const Arg& x, int64_t groups, const Tensor& weight, const Tensor& bias,
                         double eps);

}  // namespace wick::detail
