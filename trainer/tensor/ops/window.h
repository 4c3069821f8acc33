// torch.nn.functional: pooling other than maximum and mean, and max unpooling. x[N, C, spatial...],
// or without N; stride {}: the kernel's size.
#pragma once

#include <utility>

#include "trainer/tensor/ops/pool.h"

namespace wick {

// (sum of x^norm_type over the window)^(1 / norm_type); NaN for a negative sum, as in PyTorch.
// norm_type must not be 0.
Tensor lp_pool1d(const Arg& x, double norm_type, int64_t kernel_size,
                 std::optional<int64_t> stride = {}, bool ceil_mode = false);
Tensor lp_pool2d(const Arg& x, double norm_type, Pair kernel_size, std::optional<Pair> stride = {},
                 bool ceil_mode = false);

// Return values and their indices: int64, counted row by row within each [spatial...].
std::pair<Tensor, Tensor> max_pool1d_with_indices(const Arg& x, int64_t kernel_size,
                                                  std::optional<int64_t> stride = {},
                                                  int64_t padding = 0, int64_t dilation = 1,
                                                  bool ceil_mode = false);
std::pair<Tensor, Tensor> max_pool2d_with_indices(const Arg& x, Pair kernel_size,
                                                  std::optional<Pair> stride = {}, Pair padding = 0,
                                                  Pair dilation = 1, bool ceil_mode = false);
std::pair<Tensor, Tensor> max_pool3d_with_indices(const Arg& x, Triple kernel_size,
                                                  std::optional<Triple> stride = {},
                                                  Triple padding = 0, Triple dilation = 1,
                                                  bool ceil_mode = false);

// Put x at its indices in a tensor of zeros. output_size: the spatial sizes, or all of them; {}:
// (n - 1) * stride + kernel - 2 * padding. An index outside throws an Error that names it.
Tensor max_unpool1d(const Arg& x, const Arg& indices, int64_t kernel_size,
                    std::optional<int64_t> stride = {}, int64_t padding = 0,
                    const Shape& output_size = {});
Tensor max_unpool2d(const Arg& x, const Arg& indices, Pair kernel_size,
                    std::optional<Pair> stride = {}, Pair padding = 0,
                    const Shape& output_size = {});
Tensor max_unpool3d(const Arg& x, const Arg& indices, Triple kernel_size,
                    std::optional<Triple> stride = {}, Triple padding = 0,
                    const Shape& output_size = {});

}  // namespace wick
