// torch.nn.functional: pooling over x[N, C, spatial...], or without N.
#pragma once

#include "trainer/tensor/ops/conv.h"

namespace wick {

// stride {}: the kernel's size. The gradient of a window goes to its first maximum.
Tensor max_pool1d(const Arg& x, int64_t kernel_size, std::optional<int64_t> stride = {},
                  int64_t padding = 0, int64_t dilation = 1, bool ceil_mode = false);
Tensor max_pool2d(const Arg& x, Pair kernel_size, std::optional<Pair> stride = {}, Pair padding = 0,
                  Pair dilation = 1, bool ceil_mode = false);
Tensor max_pool3d(const Arg& x, Triple kernel_size, std::optional<Triple> stride = {},
                  Triple padding = 0, Triple dilation = 1, bool ceil_mode = false);
// The mean of each window. count_include_pad: padding elements are counted.
Tensor avg_pool1d(const Arg& x, int64_t kernel_size, std::optional<int64_t> stride = {},
                  int64_t padding = 0, bool ceil_mode = false, bool count_include_pad = true);
Tensor avg_pool2d(const Arg& x, Pair kernel_size, std::optional<Pair> stride = {}, Pair padding = 0,
                  bool ceil_mode = false, bool count_include_pad = true);
Tensor avg_pool3d(const Arg& x, Triple kernel_size, std::optional<Triple> stride = {},
                  Triple padding = 0, bool ceil_mode = false, bool count_include_pad = true);
// These use as many windows of (nearly) equal size as requested.
Tensor adaptive_avg_pool1d(const Arg& x, int64_t output_size);
Tensor adaptive_avg_pool2d(const Arg& x, Pair output_size);
Tensor adaptive_avg_pool3d(const Arg& x, Triple output_size);
Tensor adaptive_max_pool1d(const Arg& x, int64_t output_size);
Tensor adaptive_max_pool2d(const Arg& x, Pair output_size);
Tensor adaptive_max_pool3d(const Arg& x, Triple output_size);

}  // namespace wick
