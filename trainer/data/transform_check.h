// Checks that every function on images makes first; internal.
#pragma once

#include "trainer/data/transforms.h"

namespace wick::data::transforms {

struct Plane {
  int64_t planes = 0, height = 0, width = 0;
  size_t bytes = 0;  // per number
};
// Throws if the image is not uint8 or float32 [..., H, W] with at least one pixel; with `color` it
// must be [..., 3, H, W].
Plane check_image(const char* op, const Arg& image, bool color = false);
// Returns an uninitialized tensor with the image's shape and dtype but another height and width.
Tensor with_plane(const Tensor& image, int64_t height, int64_t width);

}  // namespace wick::data::transforms
