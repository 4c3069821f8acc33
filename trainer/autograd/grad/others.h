// The product of all factors but one, for the gradients of products.
#pragma once

#include "trainer/tensor/tensor.h"

namespace wick {

// y[..., k] is the product of x[..., i] over all i other than k. Where `group` is given, a vector
// of numbers in ascending order and x a vector of the same length, only over those i that have
// k's number.
//
// It is made of products alone. A division by the one factor, with a case of its own for a zero,
// gives the same numbers and loses their derivatives: how the product of the others moves with a
// factor that is 0 is what a second derivative asks for. The work is n log n.
Tensor product_of_others(const Tensor& x, const Tensor& group = Tensor());

}  // namespace wick
