// The product of all factors but one, used by the gradients of products.
#pragma once

#include "trainer/tensor/tensor.h"

namespace wick {

// y[..., k] is the product of x[..., i] over all i other than k. Where `group` is given, a vector
// of numbers in ascending order and x a vector of the same length, only over those i that have
// k's number.
//
// It uses multiplications only. A division by the one factor, with a special case for zero, gives
// the same numbers but wrong derivatives: a second derivative needs to know how the product of the
// others changes with a factor that is 0. The work is n log n.
Tensor product_of_others(const Tensor& x, const Tensor& group = Tensor());

}  // namespace wick
