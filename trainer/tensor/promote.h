// PyTorch's dtype promotion.
#pragma once

#include "trainer/tensor/tensor.h"

namespace wick {

// The smallest dtype of the higher category (bool < integer < float) that holds both.
DType promote(DType a, DType b);
// A 0-dim tensor does not widen one with dims of its own category.
DType result_type(const Tensor& a, const Tensor& b);

}  // namespace wick
