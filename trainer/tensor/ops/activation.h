// Activations with parameters; the others are in unary.h.
#pragma once

#include "trainer/tensor/ops/common.h"

namespace wick {

Tensor leaky_relu(const Arg& x, double negative_slope = 0.01);
Tensor elu(const Arg& x, double alpha = 1.0);
Tensor celu(const Arg& x, double alpha = 1.0);
Tensor gelu(const Arg& x, bool tanh_approximation = false);
Tensor gelu(const Arg& x, const char* approximate);  // "none" or "tanh"
Tensor relu6(const Arg& x);
Tensor hardtanh(const Arg& x, double min_val = -1, double max_val = 1);
// weight: one number, or one per channel (dimension 1 of x)
Tensor prelu(const Arg& x, const Arg& weight);
// log(1 + e^(beta x)) / beta, or x itself if beta x > threshold
Tensor softplus(const Arg& x, double beta, double threshold = 20);
Tensor softshrink(const Arg& x, double lambd = 0.5);
Tensor hardshrink(const Arg& x, double lambd = 0.5);
Tensor threshold(const Arg& x, double threshold, double value);  // value where x <= threshold
Tensor glu(const Arg& x, int64_t dim = -1);                      // a sigmoid(b), x = a, b along dim
Tensor softmin(const Arg& x, int dim);
// Compute in `dtype`.
Tensor softmax(const Arg& x, int dim, DType dtype);
Tensor log_softmax(const Arg& x, int dim, DType dtype);

}  // namespace wick
