// torchvision.transforms on tensors [C, H, W] (or [..., H, W]) of uint8 or float32. The functions
// are torchvision.transforms.functional's; the structs are for TransformedDataset and Compose:
//
//   Compose train{RandomCrop(32, 4), RandomHorizontalFlip(), ToTensor(), Normalize({.5}, {.25})};
//   TransformedDataset data(images, train, seed);
//
// Random numbers come from `Draws`, a function of (seed, epoch, index), independent of workers.
#pragma once

#include <initializer_list>
#include <utility>
#include <vector>

#include "trainer/data/datasets.h"

namespace wick::data::transforms {

// A height and a width, or one number for both.
struct Size {
  int64_t height, width;
  Size(int64_t both) : height(both), width(both) {}  // NOLINT: implicit by design
  Size(int64_t h, int64_t w) : height(h), width(w) {}
};
// The width of a border at each side, left, top, right and bottom; one number for all, two for
// left/right and top/bottom.
struct Border {
  int64_t left, top, right, bottom;
  Border(int64_t all) : left(all), top(all), right(all), bottom(all) {}  // NOLINT
  Border(int64_t x, int64_t y) : left(x), top(y), right(x), bottom(y) {}
  Border(int64_t l, int64_t t, int64_t r, int64_t b) : left(l), top(t), right(r), bottom(b) {}
};
// The interval [low, high] that a random number is drawn from.
struct Range {
  double low, high;
};

// -- functions. Errors name the argument that does not fit and the caller's line. Two names differ
// from torchvision's, because wick::pad and wick::normalize are torch.nn.functional's.
Tensor to_tensor(const Arg& image);  // bytes -> float32 in [0, 1]; float32 is returned as it is
// (x - mean) / std of each channel of floats, with one number or one per channel.
Tensor normalize_image(const Arg& image, const std::vector<double>& mean,
                       const std::vector<double>& std);
// uint8: PIL's results bit for bit. float32: antialiased too, by two matrix products
// (trainer/data/image/resample.h).
Tensor resize(const Arg& image, Size size);
// Returns the size whose smaller edge is `edge`; the other edge keeps the ratio, rounded down.
Size resized_edge(int64_t height, int64_t width, int64_t edge);
Tensor crop(const Arg& image, int64_t top, int64_t left, int64_t height, int64_t width);  // inside
Tensor center_crop(const Arg& image, Size size);  // a smaller image is padded with 0
// Adds a border of this value; torchvision's pad().
Tensor pad_image(const Arg& image, Border border, double fill = 0);
// Cuts out a part and resizes it; torchvision's resized_crop().
Tensor resized_crop(const Arg& image, int64_t top, int64_t left, int64_t height, int64_t width,
                    Size size);
// Mirror the image left to right, and upside down.
Tensor hflip(const Arg& image);
Tensor vflip(const Arg& image);
Tensor erase(const Arg& image, int64_t top, int64_t left, int64_t height, int64_t width,
             const std::vector<double>& value);  // one number, or one per channel
// 0.2989 R + 0.587 G + 0.114 B, in one channel or repeated in three. Throws Error for an image
// without 3 channels.
Tensor rgb_to_grayscale(const Arg& image, int64_t num_output_channels = 1);
Tensor adjust_brightness(const Arg& image, double factor);  // factors: 0 or more
Tensor adjust_contrast(const Arg& image, double factor);
Tensor adjust_saturation(const Arg& image, double factor);
Tensor adjust_hue(const Arg& image, double factor);  // -0.5 .. 0.5

// -- transforms
// Applies transforms one after the other; torchvision.transforms.Compose.
class Compose {
 public:
  Compose(std::initializer_list<Transform> steps) : steps_(steps) {}
  Tensor operator()(const Tensor& image, Draws& draws) const;

 private:
  std::vector<Transform> steps_;
};
// Makes uint8 [0, 255] float32 [0, 1]: to_tensor().
struct ToTensor {
  Tensor operator()(const Tensor& image, Draws&) const { return to_tensor(image); }
};
// (x - mean) / std of each channel: normalize(). Throws Error for an empty list and for a std that
// is not above 0.
class Normalize {
 public:
  Normalize(std::vector<double> mean, std::vector<double> std, Where where = Where::current());
  Tensor operator()(const Tensor& image, Draws&) const {
    return normalize_image(image, mean_, std_);
  }

 private:
  std::vector<double> mean_, std_;
};
class Resize {  // with one number: the smaller edge
 public:
  explicit Resize(int64_t edge, Where where = Where::current());
  Resize(int64_t height, int64_t width, Where where = Where::current());
  Tensor operator()(const Tensor& image, Draws&) const;

 private:
  int64_t height_, width_;  // width 0: height is the smaller edge
};
// The middle of the image, padded with zeros where it is smaller: center_crop().
class CenterCrop {
 public:
  explicit CenterCrop(Size size, Where where = Where::current());
  Tensor operator()(const Tensor& image, Draws&) const { return center_crop(image, size_); }

 private:
  Size size_;
};
// A random part of the image of this size, of the image with a border if `padding` is given. Throws
// Error for an image that is smaller, unless pad_if_needed is set.
class RandomCrop {
 public:
  explicit RandomCrop(Size size, Border padding = 0, bool pad_if_needed = false, double fill = 0,
                      Where where = Where::current());
  Tensor operator()(const Tensor& image, Draws& draws) const;

 private:
  Size size_;
  Border padding_;
  bool pad_if_needed_;
  double fill_;
};
// A random part with this share of the area and this aspect ratio, resized to `size` (Szegedy et
// al., 2015).
class RandomResizedCrop {
 public:
  explicit RandomResizedCrop(Size size, Range scale = {0.08, 1.0},
                             Range ratio = {3.0 / 4.0, 4.0 / 3.0}, Where where = Where::current());
  Tensor operator()(const Tensor& image, Draws& draws) const;

 private:
  Size size_;
  Range scale_, ratio_;
};
// Mirrors the image left to right, with probability p.
class RandomHorizontalFlip {
 public:
  explicit RandomHorizontalFlip(double p = 0.5, Where where = Where::current());
  Tensor operator()(const Tensor& image, Draws& draws) const {
    return draws.uniform() < p_ ? hflip(image) : image;
  }

 private:
  double p_;
};
// Mirrors the image upside down, with probability p.
class RandomVerticalFlip {
 public:
  explicit RandomVerticalFlip(double p = 0.5, Where where = Where::current());
  Tensor operator()(const Tensor& image, Draws& draws) const {
    return draws.uniform() < p_ ? vflip(image) : image;
  }

 private:
  double p_;
};
// Draws factors from [max(0, 1 - v), 1 + v] and hue from [-v, v], and applies the four in random
// order.
class ColorJitter {
 public:
  explicit ColorJitter(double brightness = 0, double contrast = 0, double saturation = 0,
                       double hue = 0, Where where = Where::current());
  Tensor operator()(const Tensor& image, Draws& draws) const;

 private:
  double amounts_[4];
};
// Makes the image grey, with one channel or three.
class Grayscale {
 public:
  explicit Grayscale(int64_t num_output_channels = 1, Where where = Where::current());
  Tensor operator()(const Tensor& image, Draws&) const {
    return rgb_to_grayscale(image, channels_);
  }

 private:
  int64_t channels_;
};
// With probability p fills a random rectangle with `value` (Zhong et al., 2017).
class RandomErasing {
 public:
  explicit RandomErasing(double p = 0.5, Range scale = {0.02, 0.33}, Range ratio = {0.3, 3.3},
                         std::vector<double> value = {0}, Where where = Where::current());
  Tensor operator()(const Tensor& image, Draws& draws) const;

 private:
  double p_;
  Range scale_, ratio_;
  std::vector<double> value_;
};

}  // namespace wick::data::transforms
