// Activations with parameters; the others are in unary.h.
#pragma once

#include "trainer/tensor/ops/common.h"

namespace wick {

// x where x > 0, otherwise negative_slope x.
Tensor leaky_relu(const Arg& x, double negative_slope = 0.01);
// x where x > 0, otherwise alpha (e^x - 1) (Clevert et al., 2016).
Tensor elu(const Arg& x, double alpha = 1.0);
// x where x > 0, otherwise alpha (e^(x / alpha) - 1) (Barron, 2017). Throws Error for alpha 0.
Tensor celu(const Arg& x, double alpha = 1.0);
// x times the normal distribution function of x: by erf, or approximated by tanh (Hendrycks and
// Gimpel, 2016). Throws Error for another name.
Tensor gelu(const Arg& x, bool tanh_approximation = false);
Tensor gelu(const Arg& x, const char* approximate);  // "none" or "tanh"
// x clamped to [0, 6], or to [min_val, max_val]. Throws Error if min_val > max_val.
Tensor relu6(const Arg& x);
Tensor hardtanh(const Arg& x, double min_val = -1, double max_val = 1);
// x where it is not below 0, otherwise x * weight: one number, or one per channel (dimension 1 of
// x). Throws Error for a weight of another shape.
Tensor prelu(const Arg& x, const Arg& weight);
// log(1 + e^(beta x)) / beta, or x itself if beta x > threshold
Tensor softplus(const Arg& x, double beta, double threshold = 20);
// x - lambd where x > lambd, x + lambd where x < -lambd, otherwise 0.
Tensor softshrink(const Arg& x, double lambd = 0.5);
// x where |x| > lambd, otherwise 0.
Tensor hardshrink(const Arg& x, double lambd = 0.5);
Tensor threshold(const Arg& x, double threshold, double value);  // value where x <= threshold
Tensor glu(const Arg& x, int64_t dim = -1);                      // a sigmoid(b), x = a, b along dim
// softmax(-x, dim).
Tensor softmin(const Arg& x, int dim);
// Compute in `dtype`.
Tensor softmax(const Arg& x, int dim, DType dtype);
Tensor log_softmax(const Arg& x, int dim, DType dtype);

}  // namespace wick
