// f32 convolution over two spatial dims, NCHW in and out. The order of the numeric contract: per
// output one FMA for each (input channel, kh, kw) in the weights' own order, from +0; a padded tap
// is a real fma(w, 0, sum); then the epilogue.
#pragma once

#include <cstddef>

#include "runtime/kernels/conv_tiles.h"

namespace wick {

struct ConvShape {
  int64_t n = 1, ic = 1, h = 1, w = 1;  // input
  int64_t oc = 1, oh = 1, ow = 1;       // output
  int64_t kh = 1, kw = 1;
  int64_t stride_h = 1, stride_w = 1, dilation_h = 1, dilation_w = 1;
  int64_t pad_top = 0, pad_left = 0;  // the others follow from the output size
  int64_t groups = 1;

  int64_t group_in() const { return ic / groups; }
  int64_t group_out() const { return oc / groups; }
  int64_t taps() const { return kh * kw; }
};

// An image with its padding written out, each channel as planes of every split-th row and column:
// with split = stride, neighbouring outputs read neighbouring elements. A kernel that is smaller
// than its stride reads the first planes alone.
struct PaddedImage {
  int64_t split_h = 1, split_w = 1;
  int64_t planes_h = 1, planes_w = 1;  // that are there, of split_h x split_w
  int64_t rows = 0, cols = 0;          // of one plane
  int64_t channel_floats() const { return planes_h * planes_w * rows * cols; }
  // Of the element at row r, column c of the padded channel, in a plane that is there.
  int64_t at(int64_t r, int64_t c) const {
    return ((r % split_h * planes_w + c % split_w) * rows + r / split_h) * cols + c / split_w;
  }
};

// The part of a kernel that reaches the input from any output at all: rows [row0, row1), columns
// [col0, col1). Where a dilation is wider than the map, or the map one pixel, the taps around it
// see padding only. A run of such taps, from one that reaches to the next, is one tap: fma(w, 0,
// sum) changes no sum but -0, which any w without a sign makes +0, and is NaN for a w that is not
// finite. So 1, -1 or NaN stands for the run's weights, and the bits are those of all the
// multiply-adds.
struct ConvReach {
  int64_t kh = 1, kw = 1;  // of the whole kernel
  int64_t row0 = 0, row1 = 1, col0 = 0, col1 = 1;
  bool whole() const { return row0 == 0 && row1 == kh && col0 == 0 && col1 == kw; }
};

// Bits do not depend on any of it.
struct ConvPlan {
  enum class Path : uint8_t { kPixels, kChannels, kDepthwise };
  ConvShape shape;  // with the kernel and the padding of `reach`: a negative one cuts the input
  ConvReach reach;
  Path path = Path::kPixels;
  bool padded = true;     // false: the input is read where it lies
  int64_t block = 1;      // images that are taken together
  bool by_image = false;  // tasks are whole blocks of images
  PaddedImage image;
  int64_t k = 0;  // taps of one output

  // Which of the forms of a weight that layouts do not tell apart: 0, or a number of the reach.
  int64_t variant() const {
    return reach.whole() ? 0
                         : int64_t{1} << 40 | reach.row0 << 24 | reach.row1 << 16 |
                               reach.col0 << 8 | reach.col1;
  }
};

// False when a size does not fit the 32-bit offset tables, and when the padding to be written out
// is out of proportion to the multiply-adds: op_cost.h, by which time is limited, counts those.
bool conv_supported(const ConvShape& s);
ConvPlan conv_plan(const TileKernels& kernels, const ConvShape& s, int threads);
ConvPlan conv_plan_for(const ConvShape& s, int threads,
                       ConvPlan::Path path);  // a path of one's own
size_t conv_packed_bytes(const TileKernels& kernels, const ConvPlan& plan);
void conv_pack(const TileKernels& kernels, const ConvPlan& plan, const float* w, float* packed,
               ThreadPool* pool = nullptr);
size_t conv_scratch_bytes(const TileKernels& kernels, const ConvPlan& plan, int threads);
// `packed` is conv_pack's; the residual of the epilogue is laid out like y; scratch is 64-byte
// aligned.
void conv(const TileKernels& kernels, const ConvPlan& plan, const float* x, const float* packed,
          float* y, const Epilogue& epilogue, float* scratch, ThreadPool* pool);

// Channels of h x w, one after another, into their padded form; what lies outside is zero.
void pad_channels(const TileKernels& kernels, const PaddedImage& image, const float* x,
                  int64_t channels, int64_t h, int64_t w, int64_t pad_top, int64_t pad_left,
                  float* out);

// The same by plain loops with std::fma.
void conv_ref(const ConvShape& s, const float* x, const float* w, float* y,
              const Epilogue& epilogue);

}  // namespace wick
