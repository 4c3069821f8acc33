// Clipping of gradients (torch.nn.utils). Parameters without a gradient are skipped.
#pragma once

#include <vector>

#include "trainer/tensor/tensor.h"

namespace wick::nn {

// Scales all gradients by max_norm / (norm + 1e-6) if that is less than 1, where `norm` is the
// norm_type-norm (1, 2, infinity, any positive number) of all of them as one vector. Returns
// `norm`; 0 without gradients. Sums are in double, in an order that depends only on the sizes. A
// norm that is not finite makes the gradients 0 or NaN as in PyTorch, or with error_if_nonfinite
// throws an Error that leaves them unchanged. (Pascanu et al. 2013)
double clip_grad_norm_(const std::vector<Tensor>& parameters, double max_norm,
                       double norm_type = 2.0, bool error_if_nonfinite = false,
                       Where where = Where::current());

// Clamps every element of every gradient to [-clip_value, clip_value]. NaN is kept.
void clip_grad_value_(const std::vector<Tensor>& parameters, double clip_value,
                      Where where = Where::current());

}  // namespace wick::nn
