// torchvision.ops: what detectors read of an image.
#pragma once

#include "trainer/tensor/ops/conv.h"

namespace wick {

// Both pool regions of x[N, C, H, W] to [count, C, output_size...]. boxes[count, 5] is of x's float
// dtype: the number of the image, then left, top, right and bottom, in pixels after they are
// multiplied by spatial_scale. x gets a gradient; boxes get none. Throw Error for an image that
// does not exist.
//
// The means of points between the pixels: sampling_ratio x sampling_ratio of them in each bin; -1:
// as many as a bin has pixels, rounded up. aligned: moves the boxes by half a pixel; without it a
// box is 1 x 1 at least.
Tensor roi_align(const Arg& x, const Arg& boxes, Pair output_size, double spatial_scale = 1,
                 int64_t sampling_ratio = -1, bool aligned = false);
// The largest pixels. A bin without pixels is 0. The gradient goes to the first of equal pixels.
Tensor roi_pool(const Arg& x, const Arg& boxes, Pair output_size, double spatial_scale = 1);

// A convolution whose taps are moved by offset[N, 2 groups kh kw, H', W']: for each group of
// channels and each tap a row and a column; between the pixels it interpolates, outside is 0.
// x[N, C, H, W], weight[O, C / g, kh, kw], bias[O], and mask[N, groups kh kw, H', W'] are of one
// float dtype; the shapes tell both numbers of groups. mask multiplies what the taps read. All get
// a gradient. Throws Error for shapes that do not fit.
Tensor deform_conv2d(const Arg& x, const Arg& offset, const Arg& weight,
                     const Tensor& bias = Tensor(), Pair stride = 1, Pair padding = 0,
                     Pair dilation = 1, const Tensor& mask = Tensor());

}  // namespace wick
