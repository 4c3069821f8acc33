// Gradients of a convolution with one channel per group (depthwise), in the order of conv_grad.h.
// Lanes are channels: an image is transposed to [row][column][lane] before and back after, so that
// maps of a few pixels fill the vectors as well as large ones.
#pragma once

#include <algorithm>

#include "trainer/kernels/conv_grad.h"

namespace wick {

// Returns whether the functions below support s: the transposed rows that a tap reaches are 16 MB
// at most.
inline bool is_depthwise(const ConvShape& s) {
  const double rows = static_cast<double>((s.kh + 1) * s.dilation_h + s.stride_h);
  const double cols = static_cast<double>(s.w + s.ow * s.stride_w + 2 * s.kw * s.dilation_w);
  return s.groups > 1 && s.group_in() == 1 && s.group_out() == 1 && rows * cols < 1 << 18;
}

size_t depthwise_input_grad_scratch_bytes(const ConvShape& s, int threads);
void depthwise_input_grad(const TileKernels& kernels, const ConvShape& s, const float* dy,
                          const float* w, float* dx, float* scratch, ThreadPool* pool);

size_t depthwise_weight_grad_scratch_bytes(const ConvShape& s, int threads);
void depthwise_weight_grad(const TileKernels& kernels, const ConvShape& s, const float* x,
                           const float* dy, float* dw, float* scratch, ThreadPool* pool);

// A map of vectors: element (i, j) is at i * x_row + j * x_col, in floats.
struct DepthwiseMap {
  const float* x;
  int64_t x_row, x_col;
  const int32_t* offset;  // by tap, in floats
  int64_t taps;
  int64_t rows, cols;  // extent of the result (for weights(): of dy)
};

// One set per SIMD target; a vector has `lanes` floats.
struct DepthwiseKernels {
  int lanes;
  // out(i, j) = sum over taps ascending of fma(w[tap], x(i, j)[offset[tap]], sum), from +0
  void (*outputs)(const DepthwiseMap& m, const float* w, float* out, int64_t out_row,
                  int64_t out_col);
  // sums[tap] += over (i, j) ascending of fma(x(i, j)[offset[tap]], dy(i, j), sum); dy is dense
  void (*weights)(const DepthwiseMap& m, const float* dy, float* sums);
};
const DepthwiseKernels& depthwise_kernels();

}  // namespace wick
