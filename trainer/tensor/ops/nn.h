// torch.nn.functional: convolution, pooling, normalisation, losses.
#pragma once

#include "trainer/tensor/ops/common.h"

namespace wick {

// -- convolution, pooling: x[N, C, H, W]. One number for both spatial dims, or {h, w}.
struct Pair {
  int64_t h, w;
  Pair(int64_t both) : h(both), w(both) {}  // NOLINT: implicit by design
  Pair(int64_t h, int64_t w) : h(h), w(w) {}
};
Tensor conv2d(const Arg& x, const Arg& weight, const Tensor& bias = Tensor(), Pair stride = 1,
              Pair padding = 0, Pair dilation = 1, int64_t groups = 1);  // weight[O,C/groups,h,w]
Tensor max_pool2d(const Arg& x, Pair kernel_size, std::optional<Pair> stride = {}, Pair padding = 0,
                  Pair dilation = 1, bool ceil_mode = false);  // stride {}: the kernel's size
Tensor avg_pool2d(const Arg& x, Pair kernel_size, std::optional<Pair> stride = {}, Pair padding = 0,
                  bool ceil_mode = false, bool count_include_pad = true);
// Output size 1 (the global average); other sizes are refused.
Tensor adaptive_avg_pool2d(const Arg& x, Pair output_size);

// -- normalisation
// training: batch statistics; running_mean and running_var (where defined) are moved by momentum,
// without history.
Tensor batch_norm(const Arg& x, const Tensor& running_mean, const Tensor& running_var,
                  const Tensor& weight, const Tensor& bias, bool training = false,
                  double momentum = 0.1, double eps = 1e-5);  // x[N, C, ...], the others [C]
Tensor softmax(const Arg& x, int dim);                        // floats
Tensor log_softmax(const Arg& x, int dim);
Tensor dropout(const Arg& x, double p = 0.5, bool training = true);  // p in [0, 1)

// -- losses
enum class Reduction { kNone, kMean, kSum };
// logits[N, C] (or [N, C, d...]), target[N] int64 class indices
Tensor cross_entropy(const Arg& logits, const Arg& target, Reduction reduction = Reduction::kMean);
Tensor nll_loss(const Arg& log_probs, const Arg& target, Reduction reduction = Reduction::kMean);
Tensor mse_loss(const Arg& x, const Arg& target, Reduction reduction = Reduction::kMean);

}  // namespace wick
