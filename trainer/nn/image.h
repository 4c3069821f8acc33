// Padding, resizing, and rearrangement of pixels.
#pragma once

#include <vector>

#include "trainer/nn/extra_repr.h"
#include "trainer/nn/module.h"
#include "trainer/tensor/ops/conv.h"
#include "trainer/tensor/ops/image/image.h"

namespace wick::nn {

// One number for every side, or {before, after} for each spatial dim, the last dim first; negative
// numbers crop. For x[N, C, spatial...], or without N.
class Pads {
 public:
  Pads(int64_t all) : each_{all} {}                            // NOLINT: implicit by design
  Pads(std::initializer_list<int64_t> each) : each_(each) {}   // NOLINT
  Pads(std::vector<int64_t> each) : each_(std::move(each)) {}  // NOLINT
  // Returns the numbers as they were given.
  const std::vector<int64_t>& each() const { return each_; }

 private:
  std::vector<int64_t> each_;
};

// The common part of the layers below, which pad the spatial dims of x[N, C, spatial...], or
// without N.
class PadNd : public Module {
 public:
  Tensor forward(const Arg& x) override;
  std::string extra_repr() const override;

 protected:
  PadNd(const char* kind, int spatial, const char* mode, const Pads& pads, double value = 0);

 private:
  const char* kind_;
  int spatial_;
  const char* mode_;
  std::vector<int64_t> pads_;
  double value_;
  bool shows_value_;
};

#define WICK_PAD(Name, spatial, mode)                                            \
  class Name : public PadNd {                                                    \
   public:                                                                       \
    explicit Name(const Pads& padding) : PadNd(#Name, spatial, mode, padding) {} \
  }
// Mirrored at the edge, which is not repeated. A pad must be smaller than its dim, else Error.
WICK_PAD(ReflectionPad1d, 1, "reflect");
WICK_PAD(ReflectionPad2d, 2, "reflect");
WICK_PAD(ReflectionPad3d, 3, "reflect");
// The element at the edge, repeated.
WICK_PAD(ReplicationPad1d, 1, "replicate");
WICK_PAD(ReplicationPad2d, 2, "replicate");
WICK_PAD(ReplicationPad3d, 3, "replicate");
// Continued from the other side. A pad must not be larger than its dim, else Error.
WICK_PAD(CircularPad1d, 1, "circular");
WICK_PAD(CircularPad2d, 2, "circular");
WICK_PAD(CircularPad3d, 3, "circular");
// Zeros.
WICK_PAD(ZeroPad1d, 1, "zero");
WICK_PAD(ZeroPad2d, 2, "zero");
WICK_PAD(ZeroPad3d, 3, "zero");
#undef WICK_PAD
#define WICK_PAD(Name, spatial)                                                                    \
  class Name : public PadNd {                                                                      \
   public:                                                                                         \
    Name(const Pads& padding, double value) : PadNd(#Name, spatial, "constant", padding, value) {} \
  }
// The number `value`.
WICK_PAD(ConstantPad1d, 1);
WICK_PAD(ConstantPad2d, 2);
WICK_PAD(ConstantPad3d, 3);
#undef WICK_PAD

// interpolate() as a module: {.size = {8, 8}} or {.scale_factor = {2}, .mode = "bilinear"}.
class Upsample : public Module {
 public:
  using Options = InterpolateOptions;  // of the last argument
  explicit Upsample(InterpolateOptions options) : options_(std::move(options)) {}
  Tensor forward(const Arg& x) override { return interpolate(x, options_); }
  std::string extra_repr() const override;

 private:
  InterpolateOptions options_;
};

// x[..., C r r, H, W] -> [..., C, H r, W r] (Shi et al., 2016). Throws Error if r^2 does not divide
// the channels.
class PixelShuffle : public Module {
 public:
  explicit PixelShuffle(int64_t upscale_factor) : factor_(upscale_factor) {}
  Tensor forward(const Arg& x) override { return pixel_shuffle(x, factor_); }
  std::string extra_repr() const override;

 private:
  int64_t factor_;
};
// The inverse of PixelShuffle: x[..., C, H r, W r] -> [..., C r r, H, W].
class PixelUnshuffle : public Module {
 public:
  explicit PixelUnshuffle(int64_t downscale_factor) : factor_(downscale_factor) {}
  Tensor forward(const Arg& x) override { return pixel_unshuffle(x, factor_); }
  std::string extra_repr() const override;

 private:
  int64_t factor_;
};
// Splits the channels of x[N, C, ...] into groups and interleaves them (Zhang et al., 2018). Throws
// Error if `groups` does not divide C.
class ChannelShuffle : public Module {
 public:
  explicit ChannelShuffle(int64_t groups) : groups_(groups) {}
  Tensor forward(const Arg& x) override { return channel_shuffle(x, groups_); }
  std::string extra_repr() const override;

 private:
  int64_t groups_;
};

// Unfold maps windows to columns, x[N, C, H, W] -> [N, C * kh * kw, windows]; Fold sums columns
// back into place.
class Unfold : public Module {
 public:
  explicit Unfold(Pair kernel_size, Pair dilation = 1, Pair padding = 0, Pair stride = 1)
      : kernel_(kernel_size), dilation_(dilation), padding_(padding), stride_(stride) {}
  Tensor forward(const Arg& x) override { return unfold(x, kernel_, dilation_, padding_, stride_); }
  std::string extra_repr() const override;

 private:
  Pair kernel_, dilation_, padding_, stride_;
};
class Fold : public Module {
 public:
  Fold(Pair output_size, Pair kernel_size, Pair dilation = 1, Pair padding = 0, Pair stride = 1)
      : size_(output_size),
        kernel_(kernel_size),
        dilation_(dilation),
        padding_(padding),
        stride_(stride) {}
  Tensor forward(const Arg& x) override {
    return fold(x, size_, kernel_, dilation_, padding_, stride_);
  }
  std::string extra_repr() const override;

 private:
  Pair size_, kernel_, dilation_, padding_, stride_;
};

}  // namespace wick::nn
