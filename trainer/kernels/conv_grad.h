// float32 gradients of a convolution over two spatial dims, the weight's also over three. `s` is
// the forward convolution.
//
// Input gradient: each element is a chain of FMAs from +0, one for each (output channel, kh, kw) in
// this order, over the taps whose output row and column are integers (divisible by the stride); an
// output outside of the image is a real fma(w, 0, sum).
//
// Weight gradient: the batch is cut into slices whose count depends only on the shape. Within a
// slice each element is a chain of FMAs from +0, one for each (image, od, oh, ow) in ascending
// order; a padded input is a real fma(0, dy, sum). The sums of the slices are added in slice order.
#pragma once

#include <algorithm>

#include "runtime/kernels/conv/conv.h"

namespace wick {

// Returns the number of slices. `weights`: elements of the weight; `pixels`: of one output map. 16
// slices give enough parallelism and keep the sums short. There are fewer if their partial sums
// would take more than 32 MB, or if a slice would have fewer than 512 pixels: writing and adding
// the partial sums would then cost more than computing them.
inline int64_t conv_weight_grad_slices(int64_t images, int64_t pixels, int64_t weights) {
  const int64_t room = (int64_t{8} << 20) / std::max<int64_t>(weights, 1);
  const int64_t worth = images * pixels / 512;
  return std::clamp<int64_t>(std::min<int64_t>(std::min<int64_t>(room, worth), 16), 1,
                             std::max<int64_t>(images, 1));
}
inline int64_t slice_begin(int64_t slice, int64_t slices, int64_t images) {
  return slice * images / slices;
}

size_t conv_input_grad_scratch_bytes(const TileKernels& kernels, const ConvShape& s, int threads);
void conv_input_grad(const TileKernels& kernels, const ConvShape& s, const float* dy,
                     const float* w, float* dx, float* scratch, int threads, ThreadPool* pool);

// The first of three spatial dims, with the names of ConvShape's others.
struct ConvDepth {
  int64_t in = 1, out = 1, kernel = 1, stride = 1, dilation = 1, pad = 0;
};

size_t conv_weight_grad_scratch_bytes(const TileKernels& kernels, const ConvShape& s, int threads,
                                      const ConvDepth& depth = {});
void conv_weight_grad(const TileKernels& kernels, const ConvShape& s, const float* x,
                      const float* dy, float* dw, float* scratch, int threads, ThreadPool* pool,
                      const ConvDepth& depth = {});

}  // namespace wick
