// torch.nn.functional: normalisation, dropout, attention; the rest by family.
#pragma once

#include "trainer/tensor/ops/conv.h"
#include "trainer/tensor/ops/image.h"
#include "trainer/tensor/ops/losses.h"
#include "trainer/tensor/ops/pool.h"

namespace wick {

// -- normalisation: floats; weight and bias may be undefined (1 and 0). float16 and bfloat16 are
// computed in float32.
// training: batch statistics; running_mean and running_var (where defined) are moved by momentum,
// without history.
Tensor batch_norm(const Arg& x, const Tensor& running_mean, const Tensor& running_var,
                  const Tensor& weight = Tensor(), const Tensor& bias = Tensor(),
                  bool training = false, double momentum = 0.1,
                  double eps = 1e-5);  // x[N, C, ...], the others [C]
// Over the last dims, which are normalized_shape: weight's and bias's shape.
Tensor layer_norm(const Arg& x, const Shape& normalized_shape, const Tensor& weight = Tensor(),
                  const Tensor& bias = Tensor(), double eps = 1e-5);
// x / sqrt(mean(x^2) + eps); eps {}: that of the dtype
Tensor rms_norm(const Arg& x, const Shape& normalized_shape, const Tensor& weight = Tensor(),
                std::optional<double> eps = {});
// x[N, C, ...] in num_groups groups of channels; weight and bias [C]
Tensor group_norm(const Arg& x, int64_t num_groups, const Tensor& weight = Tensor(),
                  const Tensor& bias = Tensor(), double eps = 1e-5);
// Each channel of each item on its own; with use_input_stats = false by the running statistics.
Tensor instance_norm(const Arg& x, const Tensor& running_mean = Tensor(),
                     const Tensor& running_var = Tensor(), const Tensor& weight = Tensor(),
                     const Tensor& bias = Tensor(), bool use_input_stats = true,
                     double momentum = 0.1, double eps = 1e-5);
// x / (k + alpha * mean of x^2 over `size` neighbouring channels)^beta
Tensor local_response_norm(const Arg& x, int64_t size, double alpha = 1e-4, double beta = 0.75,
                           double k = 1);
Tensor normalize(const Arg& x, double p = 2, int dim = 1, double eps = 1e-12);  // x / max(|x|, eps)
Tensor softmax(const Arg& x, int dim);                                          // floats
Tensor log_softmax(const Arg& x, int dim);

// -- dropout: p in [0, 1]; what is kept is scaled by 1 / (1 - p)
Tensor dropout(const Arg& x, double p = 0.5, bool training = true);
// Whole channels of x[N, C, ...]; the names differ in the spatial rank they take.
Tensor dropout1d(const Arg& x, double p = 0.5, bool training = true);
Tensor dropout2d(const Arg& x, double p = 0.5, bool training = true);
Tensor dropout3d(const Arg& x, double p = 0.5, bool training = true);

// -- attention: softmax(q k^T scale) v; q[..., L, E], k[..., S, E], v[..., S, Ev]. mask: bool (true
// takes part) or a float that is added; is_causal: a position sees itself and what is before it.
// scale {}: 1 / sqrt(E).
Tensor scaled_dot_product_attention(const Arg& q, const Arg& k, const Arg& v,
                                    const Tensor& mask = Tensor(), double dropout_p = 0,
                                    bool is_causal = false, std::optional<double> scale = {});

}  // namespace wick
