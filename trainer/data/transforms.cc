#include "trainer/data/transforms.h"

#include <cmath>

#include "trainer/data/transform_check.h"

namespace wick::data::transforms {
namespace {

void check_size(const char* op, Size size, const Where& where) {
  if (size.height < 1 || size.width < 1 || size.height > 1 << 20 || size.width > 1 << 20) {
    throw_error(op, "a size of " + std::to_string(size.height) + " x " + std::to_string(size.width),
                where);
  }
}
void check_probability(const char* op, double p, const Where& where) {
  if (!(p >= 0 && p <= 1)) throw_error(op, "p " + std::to_string(p) + ": 0 to 1", where);
}
void check_range(const char* op, const char* name, Range r, double least, const Where& where) {
  if (!(r.low >= least && r.low <= r.high && std::isfinite(r.high))) {
    throw_error(
        op, std::string(name) + " from " + std::to_string(r.low) + " to " + std::to_string(r.high),
        where);
  }
}
int64_t rounded(double x) { return static_cast<int64_t>(std::nearbyint(x)); }

}  // namespace

Tensor Compose::operator()(const Tensor& image, Draws& draws) const {
  Tensor x = image;
  for (const Transform& step : steps_) x = step(x, draws);
  return x;
}

Normalize::Normalize(std::vector<double> mean, std::vector<double> std, Where where)
    : mean_(std::move(mean)), std_(std::move(std)) {
  if (mean_.empty() || std_.empty()) throw_error("normalize", "no mean or no deviation", where);
  for (double s : std_) {
    if (!(s > 0)) throw_error("normalize", "a deviation of " + std::to_string(s), where);
  }
}

Resize::Resize(int64_t edge, Where where) : height_(edge), width_(0) {
  check_size("resize", edge, where);
}
Resize::Resize(int64_t height, int64_t width, Where where) : height_(height), width_(width) {
  check_size("resize", {height, width}, where);
}
Tensor Resize::operator()(const Tensor& image, Draws&) const {
  if (width_ > 0) return resize(image, {height_, width_});
  Plane p = check_image("resize", image);
  return resize(image, resized_edge(p.height, p.width, height_));
}

CenterCrop::CenterCrop(Size size, Where where) : size_(size) {
  check_size("center_crop", size, where);
}

RandomCrop::RandomCrop(Size size, Border padding, bool pad_if_needed, double fill, Where where)
    : size_(size), padding_(padding), pad_if_needed_(pad_if_needed), fill_(fill) {
  check_size("random_crop", size, where);
}
Tensor RandomCrop::operator()(const Tensor& image, Draws& draws) const {
  Tensor x = image;
  const Border& b = padding_;
  if (b.left != 0 || b.top != 0 || b.right != 0 || b.bottom != 0) x = pad_image(x, padding_, fill_);
  Plane p = check_image("random_crop", x);
  if (pad_if_needed_ && p.width < size_.width) {
    x = pad_image(x, {size_.width - p.width, 0}, fill_);
    p = check_image("random_crop", x);
  }
  if (pad_if_needed_ && p.height < size_.height) {
    x = pad_image(x, {0, size_.height - p.height}, fill_);
    p = check_image("random_crop", x);
  }
  if (p.height < size_.height || p.width < size_.width) {
    throw Error("[random_crop] " + std::to_string(size_.height) + " x " +
                std::to_string(size_.width) + " of an image of " + std::to_string(p.height) +
                " x " + std::to_string(p.width) + "; pad_if_needed would pad it");
  }
  int64_t top = draws.below(p.height - size_.height + 1);
  int64_t left = draws.below(p.width - size_.width + 1);
  return crop(x, top, left, size_.height, size_.width);
}

RandomResizedCrop::RandomResizedCrop(Size size, Range scale, Range ratio, Where where)
    : size_(size), scale_(scale), ratio_(ratio) {
  check_size("random_resized_crop", size, where);
  check_range("random_resized_crop", "scale", scale, 0, where);
  check_range("random_resized_crop", "ratio", ratio, 1e-6, where);
}
Tensor RandomResizedCrop::operator()(const Tensor& image, Draws& draws) const {
  Plane p = check_image("random_resized_crop", image);
  auto area = static_cast<double>(p.height * p.width);
  for (int attempt = 0; attempt < 10; ++attempt) {
    double target = area * draws.uniform(scale_.low, scale_.high);
    double ratio = std::exp(draws.uniform(std::log(ratio_.low), std::log(ratio_.high)));
    int64_t width = rounded(std::sqrt(target * ratio)), height = rounded(std::sqrt(target / ratio));
    if (width < 1 || height < 1 || width > p.width || height > p.height) continue;
    int64_t top = draws.below(p.height - height + 1), left = draws.below(p.width - width + 1);
    return resized_crop(image, top, left, height, width, size_);
  }
  // Fallback: a center crop with the nearest allowed ratio.
  double in_ratio = static_cast<double>(p.width) / static_cast<double>(p.height);
  int64_t width = p.width, height = p.height;
  if (in_ratio < ratio_.low) {
    height = rounded(static_cast<double>(width) / ratio_.low);
  } else if (in_ratio > ratio_.high) {
    width = rounded(static_cast<double>(height) * ratio_.high);
  }
  height = std::max<int64_t>(height, 1);
  width = std::max<int64_t>(width, 1);
  return resized_crop(image, (p.height - height) / 2, (p.width - width) / 2, height, width, size_);
}

RandomHorizontalFlip::RandomHorizontalFlip(double p, Where where) : p_(p) {
  check_probability("random_horizontal_flip", p, where);
}
RandomVerticalFlip::RandomVerticalFlip(double p, Where where) : p_(p) {
  check_probability("random_vertical_flip", p, where);
}

ColorJitter::ColorJitter(double brightness, double contrast, double saturation, double hue,
                         Where where)
    : amounts_{brightness, contrast, saturation, hue} {
  for (double amount : amounts_) {
    if (!(amount >= 0) || !std::isfinite(amount) || hue > 0.5) {
      throw_error("color_jitter",
                  "amounts must not be negative, hue at most 0.5: " + std::to_string(brightness) +
                      ", " + std::to_string(contrast) + ", " + std::to_string(saturation) + ", " +
                      std::to_string(hue),
                  where);
    }
  }
}
Tensor ColorJitter::operator()(const Tensor& image, Draws& draws) const {
  std::vector<int> order = {0, 1, 2, 3};
  draws.shuffle(order);
  Tensor x = image;
  for (int which : order) {
    double amount = amounts_[which];
    if (amount == 0) continue;
    if (which == 3) {
      x = adjust_hue(x, draws.uniform(-amount, amount));
      continue;
    }
    double factor = draws.uniform(std::max(0.0, 1 - amount), 1 + amount);
    x = which == 0   ? adjust_brightness(x, factor)
        : which == 1 ? adjust_contrast(x, factor)
                     : adjust_saturation(x, factor);
  }
  return x;
}

Grayscale::Grayscale(int64_t num_output_channels, Where where) : channels_(num_output_channels) {
  if (channels_ != 1 && channels_ != 3) {
    throw_error("grayscale", "num_output_channels must be 1 or 3", where);
  }
}

RandomErasing::RandomErasing(double p, Range scale, Range ratio, std::vector<double> value,
                             Where where)
    : p_(p), scale_(scale), ratio_(ratio), value_(std::move(value)) {
  check_probability("random_erasing", p, where);
  check_range("random_erasing", "scale", scale, 0, where);
  check_range("random_erasing", "ratio", ratio, 1e-6, where);
  if (value_.empty()) throw_error("random_erasing", "no value", where);
}
Tensor RandomErasing::operator()(const Tensor& image, Draws& draws) const {
  if (!(draws.uniform() < p_)) return image;
  Plane plane = check_image("random_erasing", image);
  auto area = static_cast<double>(plane.height * plane.width);
  for (int attempt = 0; attempt < 10; ++attempt) {
    double target = area * draws.uniform(scale_.low, scale_.high);
    double ratio = std::exp(draws.uniform(std::log(ratio_.low), std::log(ratio_.high)));
    int64_t height = rounded(std::sqrt(target * ratio)), width = rounded(std::sqrt(target / ratio));
    if (height >= plane.height || width >= plane.width) continue;
    int64_t top = draws.below(plane.height - height + 1);
    int64_t left = draws.below(plane.width - width + 1);
    return erase(image, top, left, height, width, value_);
  }
  return image;
}

}  // namespace wick::data::transforms
