// torch.nn.functional: normalization, dropout, attention; other families have their own headers.
#pragma once

#include "trainer/tensor/ops/conv.h"
#include "trainer/tensor/ops/image/image.h"
#include "trainer/tensor/ops/image/sample.h"
#include "trainer/tensor/ops/image/vision.h"
#include "trainer/tensor/ops/loss/losses.h"
#include "trainer/tensor/ops/pool.h"

namespace wick {

// -- normalization: floats; weight and bias may be undefined (1 and 0). float16 and bfloat16 are
// computed in float32.
// training: uses batch statistics, and updates running_mean and running_var (if defined) by
// momentum, without a history.
Tensor batch_norm(const Arg& x, const Tensor& running_mean, const Tensor& running_var,
                  const Tensor& weight = Tensor(), const Tensor& bias = Tensor(),
                  bool training = false, double momentum = 0.1,
                  double eps = 1e-5);  // x[N, C, ...], the other tensors [C]
// Normalizes over the last dims, whose sizes are normalized_shape, also the shape of weight and
// bias.
Tensor layer_norm(const Arg& x, const Shape& normalized_shape, const Tensor& weight = Tensor(),
                  const Tensor& bias = Tensor(), double eps = 1e-5);
// x / sqrt(mean(x^2) + eps); eps {}: the machine epsilon of the dtype
Tensor rms_norm(const Arg& x, const Shape& normalized_shape, const Tensor& weight = Tensor(),
                std::optional<double> eps = {});
// x[N, C, ...] in num_groups groups of channels; weight and bias [C]
Tensor group_norm(const Arg& x, int64_t num_groups, const Tensor& weight = Tensor(),
                  const Tensor& bias = Tensor(), double eps = 1e-5);
// Normalizes each channel of each item; with use_input_stats = false by the running statistics.
Tensor instance_norm(const Arg& x, const Tensor& running_mean = Tensor(),
                     const Tensor& running_var = Tensor(), const Tensor& weight = Tensor(),
                     const Tensor& bias = Tensor(), bool use_input_stats = true,
                     double momentum = 0.1, double eps = 1e-5);
// x / (k + alpha * mean of x^2 over `size` neighbouring channels)^beta
Tensor local_response_norm(const Arg& x, int64_t size, double alpha = 1e-4, double beta = 0.75,
                           double k = 1);
Tensor normalize(const Arg& x, double p = 2, int dim = 1, double eps = 1e-12);  // x / max(|x|, eps)
Tensor softmax(const Arg& x, int dim);                                          // floats
// log(softmax(x)) along dim, without the logarithm of a number that became 0.
Tensor log_softmax(const Arg& x, int dim);

// -- dropout: p in [0, 1]; values that are kept are scaled by 1 / (1 - p)
// Sets each element to 0 with probability p; x itself if not training.
Tensor dropout(const Arg& x, double p = 0.5, bool training = true);
// Drop whole channels of x[N, C, ...]; the functions differ in the spatial rank that they accept.
Tensor dropout1d(const Arg& x, double p = 0.5, bool training = true);
Tensor dropout2d(const Arg& x, double p = 0.5, bool training = true);
Tensor dropout3d(const Arg& x, double p = 0.5, bool training = true);

// -- attention: softmax(q k^T scale) v for q[..., L, E], k[..., S, E], v[..., S, Ev]. mask: bool
// (true where attention is allowed) or floats that are added; is_causal: a position attends to
// itself and to earlier ones. scale {}: 1 / sqrt(E).
// Returns [..., L, Ev]. Throws Error for shapes that do not fit, and for a mask together with
// is_causal.
Tensor scaled_dot_product_attention(const Arg& q, const Arg& k, const Arg& v,
                                    const Tensor& mask = Tensor(), double dropout_p = 0,
                                    bool is_causal = false, std::optional<double> scale = {});

}  // namespace wick
