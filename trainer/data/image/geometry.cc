// Functions that move pixels.
#include <algorithm>
#include <cmath>
#include <cstring>

#include "trainer/data/image/resample.h"
#include "trainer/data/transform_check.h"

namespace wick::data::transforms {

Plane check_image(const char* op, const Arg& image, bool color) {
  const Shape& shape = image.tensor.raw_shape(image.where);
  DType dtype = image.tensor.dtype();
  auto refuse = [&](const char* what) {
    throw_error(op, std::string("an image ") + dtype_name(dtype) + to_text(shape).text + what,
                image.where, Code::kShapeMismatch);
  };
  if (dtype != DType::kU8 && dtype != DType::kF32) refuse(": uint8 and float32 are taken");
  if (shape.rank() < 2) refuse(": [C, H, W] is expected");
  Plane p;
  p.height = shape[shape.rank() - 2];
  p.width = shape[shape.rank() - 1];
  if (p.height < 1 || p.width < 1) refuse(" has no pixels");
  p.planes = numel(shape) / (p.height * p.width);
  p.bytes = dtype_size(dtype);
  if (color && (shape.rank() < 3 || shape[shape.rank() - 3] != 3)) {
    refuse(": [3, H, W] is expected (RGB)");
  }
  return p;
}

Tensor with_plane(const Tensor& image, int64_t height, int64_t width) {
  Shape shape = image.raw_shape();
  shape[shape.rank() - 2] = height;
  shape[shape.rank() - 1] = width;
  return empty(shape, image.dtype());
}

namespace {

void check_size(const char* op, Size size, const Where& where) {
  constexpr int64_t kMost = 1 << 20;
  if (size.height < 1 || size.width < 1 || size.height > kMost || size.width > kMost) {
    throw_error(op, "a size of " + std::to_string(size.height) + " x " + std::to_string(size.width),
                where);
  }
}

}  // namespace

Tensor resize(const Arg& image, Size size) {
  Plane p = check_image("resize", image);
  check_size("resize", size, image.where);
  if (p.height == size.height && p.width == size.width) return image.tensor;
  if (image.tensor.dtype() == DType::kU8) {
    return resize_bytes(image.tensor, size.height, size.width);
  }
  return resize_floats(image, resample_matrix(p.height, size.height),
                       resample_matrix(p.width, size.width));
}

Size resized_edge(int64_t height, int64_t width, int64_t edge) {
  return width <= height ? Size(edge * height / width, edge) : Size(edge, edge * width / height);
}

Tensor crop(const Arg& image, int64_t top, int64_t left, int64_t height, int64_t width) {
  Plane p = check_image("crop", image);
  if (top < 0 || left < 0 || height < 1 || width < 1 || top > p.height - height ||
      left > p.width - width) {
    throw_error("crop",
                std::to_string(height) + " x " + std::to_string(width) + " at (" +
                    std::to_string(top) + ", " + std::to_string(left) + ") of an image of " +
                    std::to_string(p.height) + " x " + std::to_string(p.width),
                image.where);
  }
  Tensor from = image.tensor.detach().contiguous(), to = with_plane(from, height, width);
  auto* in = static_cast<const uint8_t*>(from.raw().data);
  auto* out = static_cast<uint8_t*>(to.raw().data);
  size_t row = static_cast<size_t>(width) * p.bytes;
  for (int64_t line = 0; line < p.planes * height; ++line) {
    int64_t y = line / height * p.height + top + line % height;
    std::memcpy(out + static_cast<size_t>(line) * row,
                in + static_cast<size_t>(y * p.width + left) * p.bytes, row);
  }
  return to;
}

Tensor pad_image(const Arg& image, Border b, double fill) {
  Plane p = check_image("pad_image", image);
  for (int64_t n : {b.left, b.top, b.right, b.bottom}) {
    if (n < 0 || n > 1 << 20)
      throw_error("pad_image", "a border of " + std::to_string(n), image.where);
  }
  bool bytes = image.tensor.dtype() == DType::kU8;
  if (bytes && !(fill >= 0 && fill <= 255)) {
    throw_error("pad_image", "fill " + std::to_string(fill) + " is no byte", image.where);
  }
  int64_t height = p.height + b.top + b.bottom, width = p.width + b.left + b.right;
  Tensor from = image.tensor.detach().contiguous(), to = with_plane(from, height, width);
  if (bytes) {
    std::fill_n(static_cast<uint8_t*>(to.raw().data), to.numel(), static_cast<uint8_t>(fill));
  } else {
    std::fill_n(static_cast<float*>(to.raw().data), to.numel(), static_cast<float>(fill));
  }
  auto* in = static_cast<const uint8_t*>(from.raw().data);
  auto* out = static_cast<uint8_t*>(to.raw().data);
  size_t row = static_cast<size_t>(p.width) * p.bytes;
  for (int64_t line = 0; line < p.planes * p.height; ++line) {
    int64_t y = line / p.height * height + b.top + line % p.height;
    std::memcpy(out + static_cast<size_t>(y * width + b.left) * p.bytes,
                in + static_cast<size_t>(line) * row, row);
  }
  return to;
}

Tensor center_crop(const Arg& image, Size size) {
  Plane p = check_image("center_crop", image);
  check_size("center_crop", size, image.where);
  int64_t dy = std::max<int64_t>(0, size.height - p.height);
  int64_t dx = std::max<int64_t>(0, size.width - p.width);
  Tensor x = image.tensor;
  if (dx > 0 || dy > 0) x = pad_image(image, Border(dx / 2, dy / 2, (dx + 1) / 2, (dy + 1) / 2));
  // Python's round(): ties go to the even number.
  auto half = [](int64_t n) {
    return static_cast<int64_t>(std::nearbyint(static_cast<double>(n) / 2.0));
  };
  return crop({x, image.where}, half(p.height + dy - size.height), half(p.width + dx - size.width),
              size.height, size.width);
}

Tensor resized_crop(const Arg& image, int64_t top, int64_t left, int64_t height, int64_t width,
                    Size size) {
  return resize({crop(image, top, left, height, width), image.where}, size);
}

namespace {

template <class T>
void flip(const Plane& p, const T* in, T* out, bool horizontal) {
  for (int64_t plane = 0; plane < p.planes; ++plane) {
    for (int64_t y = 0; y < p.height; ++y) {
      const T* from = in + (plane * p.height + (horizontal ? y : p.height - 1 - y)) * p.width;
      T* to = out + (plane * p.height + y) * p.width;
      if (horizontal) {
        std::reverse_copy(from, from + p.width, to);
      } else {
        std::copy(from, from + p.width, to);
      }
    }
  }
}
Tensor flipped(const char* op, const Arg& image, bool horizontal) {
  Plane p = check_image(op, image);
  Tensor from = image.tensor.detach().contiguous();
  Tensor to = with_plane(from, p.height, p.width);
  if (p.bytes == 1) {
    flip(p, static_cast<const uint8_t*>(from.raw().data), static_cast<uint8_t*>(to.raw().data),
         horizontal);
  } else {
    flip(p, static_cast<const float*>(from.raw().data), static_cast<float*>(to.raw().data),
         horizontal);
  }
  return to;
}

}  // namespace

Tensor hflip(const Arg& image) { return flipped("hflip", image, true); }
Tensor vflip(const Arg& image) { return flipped("vflip", image, false); }

Tensor erase(const Arg& image, int64_t top, int64_t left, int64_t height, int64_t width,
             const std::vector<double>& value) {
  Plane p = check_image("erase", image);
  if (top < 0 || left < 0 || height < 0 || width < 0 || top > p.height - height ||
      left > p.width - width) {
    throw_error("erase", "a rectangle that is not inside the image", image.where);
  }
  auto channels = static_cast<int64_t>(value.size());
  int rank = image.tensor.rank();
  if (channels != 1 && (rank < 3 || image.tensor.raw_shape()[rank - 3] != channels)) {
    throw_error("erase", std::to_string(channels) + " values, one or one a channel are expected",
                image.where);
  }
  Tensor to = image.tensor.detach().contiguous().clone();
  for (int64_t plane = 0; plane < p.planes; ++plane) {
    double v = value[static_cast<size_t>(plane % channels)];
    for (int64_t y = top; y < top + height; ++y) {
      int64_t at = (plane * p.height + y) * p.width + left;
      if (p.bytes == 1) {
        std::fill_n(static_cast<uint8_t*>(to.raw().data) + at, width,
                    static_cast<uint8_t>(std::clamp(v, 0.0, 255.0)));
      } else {
        std::fill_n(static_cast<float*>(to.raw().data) + at, width, static_cast<float>(v));
      }
    }
  }
  return to;
}

}  // namespace wick::data::transforms
