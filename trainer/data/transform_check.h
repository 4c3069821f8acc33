// What every function on images asks first; internal.
#pragma once

#include "trainer/data/transforms.h"

namespace wick::data::transforms {

struct Plane {
  int64_t planes = 0, height = 0, width = 0;
  size_t bytes = 0;  // of a number
};
// Throws where the image is not uint8 or float32 [..., H, W] with pixels, or not [..., 3, H, W].
Plane check_image(const char* op, const Arg& image, bool color = false);
// Not filled: the image's shape and dtype with another height and width.
Tensor with_plane(const Tensor& image, int64_t height, int64_t width);

}  // namespace wick::data::transforms
