// torch.nn.functional: reading images at positions that a tensor gives.
#pragma once

#include <string_view>

#include "trainer/tensor/ops/common.h"

namespace wick {

// Reads x[N, C, H, W] at grid[N, to..., 2], or x[N, C, D, H, W] at grid[N, to..., 3]; returns [N,
// C, to...]. Both are of one float dtype, and both get a gradient. A position is (x, y) or (x, y,
// z): -1 and 1 are the ends of the last dim, the one before it, and so on; with align_corners the
// centers of the outermost pixels, else their outer edges.
// mode: "bilinear" (of 5 dims trilinear), "nearest" (no gradient for the grid), "bicubic" (4 dims
// only). padding_mode, for positions outside: "zeros", "border" (the pixel at the edge),
// "reflection" (mirrored at the ends). Half of a pixel rounds to the even one before it is
// mirrored; PyTorch mirrors first. Throws Error for other shapes, dtypes and modes.
Tensor grid_sample(const Arg& x, const Arg& grid, std::string_view mode = "bilinear",
                   std::string_view padding_mode = "zeros", bool align_corners = false);
// Makes a grid of theta[N, 2, 3] and size {N, C, H, W}: [N, H, W, 2]; of theta[N, 3, 4] and {N, C,
// D, H, W}: [N, D, H, W, 3]. A position of it is theta times (x, y, 1), or (x, y, z, 1), where the
// coordinates run from -1 to 1 as those of grid_sample(). theta is of floats. Throws Error for
// sizes below 1, and for a theta that does not fit.
Tensor affine_grid(const Arg& theta, const SizeList& size, bool align_corners = false);

}  // namespace wick
