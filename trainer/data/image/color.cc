// Functions that change colors: torchvision's formulas on tensors, in float32.
#include <algorithm>
#include <cmath>

#include "trainer/data/transform_check.h"

namespace wick::data::transforms {
namespace {

// Returns the image's numbers as float32, unscaled: bytes are 0 to 255.
std::vector<float> floats(const Tensor& image) {
  Tensor x = image.detach().contiguous();
  auto n = static_cast<size_t>(x.numel());
  std::vector<float> out(n);
  if (x.dtype() == DType::kU8) {
    std::copy_n(static_cast<const uint8_t*>(x.raw().data), n, out.begin());
  } else {
    std::copy_n(static_cast<const float*>(x.raw().data), n, out.begin());
  }
  return out;
}
// Converts back to the type of `like`: clamps to its range, and rounds bytes down.
Tensor clamped(const std::vector<float>& values, const Tensor& like) {
  Tensor out = empty(like.raw_shape(), like.dtype());
  bool bytes = like.dtype() == DType::kU8;
  float bound = bytes ? 255.0f : 1.0f;
  for (size_t i = 0; i < values.size(); ++i) {
    float v = std::clamp(values[i], 0.0f, bound);
    if (bytes) {
      static_cast<uint8_t*>(out.raw().data)[i] = static_cast<uint8_t>(v);
    } else {
      static_cast<float*>(out.raw().data)[i] = v;
    }
  }
  return out;
}

void check_factor(const char* op, double factor, const Where& where) {
  if (!(factor >= 0) || !std::isfinite(factor)) {
    throw_error(op, "a factor of " + std::to_string(factor) + ": 0 or more", where);
  }
}

// Calls f(red, green, blue) with the indices of every pixel's numbers.
template <class F>
void each_pixel(const Plane& p, const F& f) {
  auto area = static_cast<size_t>(p.height * p.width);
  for (size_t start = 0; start < area * static_cast<size_t>(p.planes); start += 3 * area) {
    for (size_t i = start; i < start + area; ++i) f(i, i + area, i + 2 * area);
  }
}

float grey_of(float r, float g, float b, bool bytes) {
  float grey = 0.2989f * r + 0.587f * g + 0.114f * b;
  return bytes ? std::trunc(grey) : grey;
}

struct Hsv {
  float h, s, v;
};
Hsv to_hsv(float r, float g, float b) {
  float most = std::max({r, g, b}), least = std::min({r, g, b});
  bool grey = most == least;
  float range = most - least, divisor = grey ? 1.0f : range;
  float rc = (most - r) / divisor, gc = (most - g) / divisor, bc = (most - b) / divisor;
  float h = most == r ? bc - gc : most == g ? 2.0f + rc - bc : 4.0f + gc - rc;
  return {std::fmod(h / 6.0f + 1.0f, 1.0f), range / (grey ? 1.0f : most), most};
}
void to_rgb(const Hsv& c, float* r, float* g, float* b) {
  float i = std::floor(c.h * 6.0f), f = c.h * 6.0f - i;
  float p = std::clamp(c.v * (1.0f - c.s), 0.0f, 1.0f);
  float q = std::clamp(c.v * (1.0f - c.s * f), 0.0f, 1.0f);
  float t = std::clamp(c.v * (1.0f - c.s * (1.0f - f)), 0.0f, 1.0f);
  float v = c.v;
  const float table[6][3] = {{v, t, p}, {q, v, p}, {p, v, t}, {p, q, v}, {t, p, v}, {v, p, q}};
  int sector = static_cast<int>(i) % 6;
  const float* rgb = table[sector < 0 ? sector + 6 : sector];
  *r = rgb[0];
  *g = rgb[1];
  *b = rgb[2];
}

}  // namespace

Tensor to_tensor(const Arg& image) {
  check_image("to_tensor", image);
  if (image.tensor.dtype() == DType::kF32) return image.tensor;
  Tensor out = empty(image.tensor.raw_shape());
  std::vector<float> values = floats(image.tensor);
  auto* to = static_cast<float*>(out.raw().data);
  for (size_t i = 0; i < values.size(); ++i) to[i] = values[i] / 255.0f;
  return out;
}

Tensor normalize_image(const Arg& image, const std::vector<double>& mean,
                       const std::vector<double>& std) {
  Plane p = check_image("normalize_image", image);
  int rank = image.tensor.rank();
  int64_t channels = rank < 3 ? 1 : image.tensor.raw_shape()[rank - 3];
  auto fits = [&](size_t n) { return n == 1 || static_cast<int64_t>(n) == channels; };
  if (image.tensor.dtype() != DType::kF32) {
    throw_error("normalize_image", "the image holds bytes: to_tensor first", image.where);
  }
  if (!fits(mean.size()) || !fits(std.size())) {
    throw_error("normalize_image",
                std::to_string(mean.size()) + " means and " + std::to_string(std.size()) +
                    " deviations for " + std::to_string(channels) + " channels",
                image.where);
  }
  std::vector<float> x = floats(image.tensor);
  Tensor out = empty(image.tensor.raw_shape());
  auto* to = static_cast<float*>(out.raw().data);
  auto area = static_cast<size_t>(p.height * p.width);
  for (size_t i = 0; i < x.size(); ++i) {
    size_t c = i / area % static_cast<size_t>(channels);
    to[i] = (x[i] - static_cast<float>(mean[mean.size() == 1 ? 0 : c])) /
            static_cast<float>(std[std.size() == 1 ? 0 : c]);
  }
  return out;
}

Tensor rgb_to_grayscale(const Arg& image, int64_t num_output_channels) {
  Plane p = check_image("rgb_to_grayscale", image, true);
  if (num_output_channels != 1 && num_output_channels != 3) {
    throw_error("rgb_to_grayscale", "num_output_channels must be 1 or 3", image.where);
  }
  bool bytes = image.tensor.dtype() == DType::kU8;
  Shape shape = image.tensor.raw_shape();
  shape[shape.rank() - 3] = num_output_channels;
  Tensor out = empty(shape, image.tensor.dtype());
  std::vector<float> x = floats(image.tensor);
  auto area = static_cast<size_t>(p.height * p.width);
  each_pixel(p, [&](size_t r, size_t g, size_t b) {
    float grey = grey_of(x[r], x[g], x[b], bytes);
    size_t start = r / (3 * area) * area * static_cast<size_t>(num_output_channels) + r % area;
    for (int64_t c = 0; c < num_output_channels; ++c) {
      size_t at = start + static_cast<size_t>(c) * area;
      if (bytes) {
        static_cast<uint8_t*>(out.raw().data)[at] = static_cast<uint8_t>(grey);
      } else {
        static_cast<float*>(out.raw().data)[at] = grey;
      }
    }
  });
  return out;
}

Tensor adjust_brightness(const Arg& image, double factor) {
  check_image("adjust_brightness", image);
  check_factor("adjust_brightness", factor, image.where);
  std::vector<float> x = floats(image.tensor);
  for (float& v : x) v *= static_cast<float>(factor);
  return clamped(x, image.tensor);
}

Tensor adjust_contrast(const Arg& image, double factor) {
  Plane p = check_image("adjust_contrast", image, true);
  check_factor("adjust_contrast", factor, image.where);
  bool bytes = image.tensor.dtype() == DType::kU8;
  std::vector<float> x = floats(image.tensor);
  auto picture = static_cast<size_t>(3 * p.height * p.width);
  auto f = static_cast<float>(factor), rest = static_cast<float>(1.0 - factor);
  std::vector<double> sums(x.size() / picture);
  each_pixel(p, [&](size_t r, size_t g, size_t b) {
    sums[r / picture] += grey_of(x[r], x[g], x[b], bytes);
  });
  for (size_t i = 0; i < x.size(); ++i) {
    auto mean = static_cast<float>(sums[i / picture] / static_cast<double>(p.height * p.width));
    x[i] = f * x[i] + rest * mean;
  }
  return clamped(x, image.tensor);
}

Tensor adjust_saturation(const Arg& image, double factor) {
  Plane p = check_image("adjust_saturation", image, true);
  check_factor("adjust_saturation", factor, image.where);
  bool bytes = image.tensor.dtype() == DType::kU8;
  std::vector<float> x = floats(image.tensor);
  auto f = static_cast<float>(factor), rest = static_cast<float>(1.0 - factor);
  each_pixel(p, [&](size_t r, size_t g, size_t b) {
    float grey = grey_of(x[r], x[g], x[b], bytes);
    for (size_t at : {r, g, b}) x[at] = f * x[at] + rest * grey;
  });
  return clamped(x, image.tensor);
}

Tensor adjust_hue(const Arg& image, double factor) {
  Plane p = check_image("adjust_hue", image, true);
  if (!(factor >= -0.5 && factor <= 0.5)) {
    throw_error("adjust_hue", "a factor of " + std::to_string(factor) + ": -0.5 to 0.5",
                image.where);
  }
  bool bytes = image.tensor.dtype() == DType::kU8;
  std::vector<float> x = floats(image.tensor);
  if (bytes) {
    for (float& v : x) v /= 255.0f;
  }
  each_pixel(p, [&](size_t r, size_t g, size_t b) {
    Hsv c = to_hsv(x[r], x[g], x[b]);
    c.h = std::fmod(c.h + static_cast<float>(factor), 1.0f);
    if (c.h < 0) c.h += 1.0f;
    to_rgb(c, &x[r], &x[g], &x[b]);
  });
  if (bytes) {
    for (float& v : x) v *= 255.0f;
  }
  return clamped(x, image.tensor);
}

}  // namespace wick::data::transforms
