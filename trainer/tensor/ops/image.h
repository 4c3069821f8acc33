// torch.nn.functional: borders, sizes and the order of pixels.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "trainer/tensor/ops/common.h"

namespace wick {

// pads: PyTorch's order, last dimension first. mode: "constant", "reflect" (pads smaller than the
// dim), "replicate", "circular" (pads at most the dim).
Tensor pad(const Arg& x, std::initializer_list<SizeArg> pads, std::string_view mode,
           double value = 0);

// Either size or scale_factor; one entry for all spatial dims, or one each.
struct InterpolateOptions {
  std::vector<SizeArg> size = {};
  std::vector<double> scale_factor = {};
  // "nearest", "nearest-exact"; by the spatial rank "linear", "bilinear" or "bicubic", "trilinear"
  std::string mode = "nearest";
  bool align_corners = false;
};
Tensor interpolate(const Arg& x, const InterpolateOptions& options);  // x[N, C, spatial...]

Tensor pixel_shuffle(const Arg& x, int64_t factor);    // [..., C * f * f, H, W] -> [..., C, Hf, Wf]
Tensor pixel_unshuffle(const Arg& x, int64_t factor);  // back
Tensor channel_shuffle(const Arg& x, int64_t groups);  // [N, C, ...]: [g, C / g] -> [C / g, g]

}  // namespace wick
