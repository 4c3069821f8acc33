// f32 gradients of a convolution over two spatial dims. `s` is the forward convolution.
//
// Input gradient: per element one FMA for each (output channel, kh, kw) in this order, from +0,
// over the taps whose output row and column are whole (stride divides); an output outside the image
// is a real fma(w, 0, sum).
//
// Weight gradient: the batch is cut into slices whose count depends on the shape only. Within a
// slice one FMA for each (image, oh, ow), ascending, from +0; a padded input is a real fma(0, dy,
// sum). The slices' sums are added in slice order.
#pragma once

#include <algorithm>

#include "runtime/kernels/conv.h"

namespace wick {

// `weights` = elements of the weight, `pixels` = of one output map. 16 slices are parallel enough
// and keep the sums short; fewer when their partial sums would take more than 32 MB, or when a
// slice would have fewer than 512 pixels: writing and adding the partial sums then costs more than
// they.
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

size_t conv_weight_grad_scratch_bytes(const TileKernels& kernels, const ConvShape& s, int threads);
void conv_weight_grad(const TileKernels& kernels, const ConvShape& s, const float* x,
                      const float* dy, float* dw, float* scratch, int threads, ThreadPool* pool);

}  // namespace wick
