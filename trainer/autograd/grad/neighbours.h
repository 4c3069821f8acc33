// Reading an image between its pixels, in ops that have gradients. The kernels of GridSample and
// DeformConv read the same pixels with the same weights.
#pragma once

#include <vector>

#include "trainer/tensor/tensor.h"

namespace wick {

// The pixels that each point reads along one dim.
struct Neighbours {
  Tensor index;   // int64 [points, taps], each within the dim
  Tensor weight;  // [points, taps], differentiable; 0 for a pixel that is not there
};

// x[B, C, spatial...] of float32 or float64, not empty; `along` has one entry for each spatial dim.
// The first points / B points are in the first image, and so on. Returns [B, C, points / B]: the
// sums over the pixels around each point, weighted by the product of the weights along the dims.
Tensor read_between(const Tensor& x, const std::vector<Neighbours>& along);

}  // namespace wick
