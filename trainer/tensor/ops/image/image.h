// torch.nn.functional: padding, resizing, and rearrangement of pixels.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "trainer/tensor/ops/common.h"

namespace wick {

// pads: in PyTorch's order, last dimension first. mode: "constant", "reflect" (pads must be smaller
// than the dim), "replicate", "circular" (pads at most the dim).
Tensor pad(const Arg& x, std::initializer_list<SizeArg> pads, std::string_view mode,
           double value = 0);

// Set either size or scale_factor; one entry for all spatial dims, or one for each.
struct InterpolateOptions {
  std::vector<SizeArg> size = {};
  std::vector<double> scale_factor = {};
  // "nearest", "nearest-exact", or by the spatial rank "linear", "bilinear" or "bicubic",
  // "trilinear"; "area": the means of adaptive_avg_pool
  std::string mode = "nearest";
  bool align_corners = false;  // whether the corners' centers coincide, not their outer edges
  // Positions are those of the sizes, in / out, instead of 1 / scale_factor.
  bool recompute_scale_factor = false;
  // "bilinear" and "bicubic": an output is a mean of all pixels that it covers where the image
  // becomes smaller, instead of few pixels around one point.
  bool antialias = false;
};
// Resizes x[N, C, spatial...]; the size of a factor is rounded down. In the linear modes a dim
// whose size stays is copied, whatever its factor; the others use the factor then, as PyTorch does.
// Throws Error for integers but in the modes of nearest pixels, and for options that do not go
// together.
Tensor interpolate(const Arg& x, const InterpolateOptions& options);

Tensor pixel_shuffle(const Arg& x, int64_t factor);    // [..., C * f * f, H, W] -> [..., C, Hf, Wf]
Tensor pixel_unshuffle(const Arg& x, int64_t factor);  // the inverse
Tensor channel_shuffle(const Arg& x, int64_t groups);  // [N, C, ...]: [g, C / g] -> [C / g, g]

}  // namespace wick
