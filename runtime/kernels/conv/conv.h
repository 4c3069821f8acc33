// f32 convolution over two spatial dims, NCHW in and out. The order of the numeric contract: per
// output one FMA for each (input channel, kh, kw) in the weights' order, from +0; a padded tap is
// an actual fma(w, 0, sum); then the epilogue.
#pragma once

#include <cstddef>

#include "runtime/kernels/conv/conv_tiles.h"

namespace wick {

struct ConvShape {
  int64_t n = 1, ic = 1, h = 1, w = 1;  // input
  int64_t oc = 1, oh = 1, ow = 1;       // output
  int64_t kh = 1, kw = 1;
  int64_t stride_h = 1, stride_w = 1, dilation_h = 1, dilation_w = 1;
  int64_t pad_top = 0, pad_left = 0;  // the end pads follow from the output size
  int64_t groups = 1;

  int64_t group_in() const { return ic / groups; }
  int64_t group_out() const { return oc / groups; }
  int64_t taps() const { return kh * kw; }
};

// An image with explicit padding, each channel stored as planes of every split-th row and column:
// with split = stride, neighbouring outputs read neighbouring elements. A kernel smaller than its
// stride reads only the first planes.
struct PaddedImage {
  int64_t split_h = 1, split_w = 1;
  int64_t planes_h = 1, planes_w = 1;  // stored planes, of split_h x split_w
  int64_t rows = 0, cols = 0;          // of one plane
  int64_t channel_floats() const { return planes_h * planes_w * rows * cols; }
  // Returns the offset of row r, column c of the padded channel, in a stored plane.
  int64_t at(int64_t r, int64_t c) const {
    return ((r % split_h * planes_w + c % split_w) * rows + r / split_h) * cols + c / split_w;
  }
};

// The part of a kernel that reaches the input from any output: rows [row0, row1), columns [col0,
// col1). With a dilation wider than the map, or a map of one pixel, the taps around it read only
// padding. A run of such taps between two that reach is merged into one tap: fma(w, 0, sum) changes
// no sum but -0, which a positive w turns into +0, and gives NaN for a w that is not finite. So the
// run's weights are replaced by 1, -1 or NaN, and the result is bit-identical to all the
// multiply-adds.
struct ConvReach {
  int64_t kh = 1, kw = 1;  // of the whole kernel
  int64_t row0 = 0, row1 = 1, col0 = 0, col1 = 1;
  bool whole() const { return row0 == 0 && row1 == kh && col0 == 0 && col1 == kw; }
};

// The plan of a convolution; the result's bits do not depend on it.
struct ConvPlan {
  enum class Path : uint8_t { kPixels, kChannels, kDepthwise };
  ConvShape shape;  // with the kernel and padding of `reach`: a negative pad crops the input
  ConvReach reach;
  Path path = Path::kPixels;
  bool padded = true;     // false: the input is read in place
  int64_t block = 1;      // images that are processed together
  bool by_image = false;  // tasks are whole blocks of images
  PaddedImage image;
  int64_t k = 0;  // taps per output

  // Distinguishes packed forms that the layout id does not: 0, or a number for the reach.
  int64_t variant() const {
    return reach.whole() ? 0
                         : int64_t{1} << 40 | reach.row0 << 24 | reach.row1 << 16 |
                               reach.col0 << 8 | reach.col1;
  }
};

// Returns false when a size does not fit the 32-bit offset tables, or when the explicit padding is
// out of proportion to the multiply-adds: time limits rely on op_cost.h, which counts only those.
bool conv_supported(const ConvShape& s);
ConvPlan conv_plan(const TileKernels& kernels, const ConvShape& s, int threads);
ConvPlan conv_plan_for(const ConvShape& s, int threads,
                       ConvPlan::Path path);  // with a given path
size_t conv_packed_bytes(const TileKernels& kernels, const ConvPlan& plan);
void conv_pack(const TileKernels& kernels, const ConvPlan& plan, const float* w, float* packed,
               ThreadPool* pool = nullptr);
size_t conv_scratch_bytes(const TileKernels& kernels, const ConvPlan& plan, int threads);
// `packed` comes from conv_pack; the residual of the epilogue has the layout of y; scratch is
// 64-byte aligned.
void conv(const TileKernels& kernels, const ConvPlan& plan, const float* x, const float* packed,
          float* y, const Epilogue& epilogue, float* scratch, ThreadPool* pool);

// Copies consecutive channels of h x w to their padded form; elements outside are zero.
void pad_channels(const TileKernels& kernels, const PaddedImage& image, const float* x,
                  int64_t channels, int64_t h, int64_t w, int64_t pad_top, int64_t pad_left,
                  float* out);

// The reference: plain loops with std::fma.
void conv_ref(const ConvShape& s, const float* x, const float* w, float* y,
              const Epilogue& epilogue);

}  // namespace wick
