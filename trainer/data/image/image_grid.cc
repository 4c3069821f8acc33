#include "trainer/data/image/image_grid.h"

#include <algorithm>
#include <cmath>

#include "trainer/data/image/image_write.h"
#include "trainer/explain/values.h"
#include "trainer/tensor/device/vulkan_memory.h"
#include "trainer/tensor/ops.h"

namespace wick::data {
namespace {

// A batch of images in the host's memory, one behind the other.
struct Images {
  Tensor values;
  int64_t count = 0, channels = 0, height = 0, width = 0;
  int64_t each() const { return channels * height * width; }
};

void check_options(const GridOptions& o, bool floats, const Where& where) {
  auto refuse = [&](const std::string& text) { throw_error("make_grid", text, where); };
  if (o.nrow < 1) refuse("nrow must be at least 1, got " + std::to_string(o.nrow));
  if (o.padding < 0 || o.padding > int64_t{1} << 20) {
    refuse("padding must be 0 to 2^20, got " + std::to_string(o.padding));
  }
  if (!o.normalize) return;
  if (!floats) refuse("normalize needs floats; images of bytes need none");
  if (!o.value_range) return;
  const auto [low, high] = *o.value_range;
  if (!std::isfinite(low) || !std::isfinite(high) || low > high) {
    refuse(joined("value_range must be (low, high), finite, low not above high, got (",
                  number_text(low), ", ", number_text(high), ")"));
  }
}

Images checked(const Arg& arg, const GridOptions& options) {
  const TensorView v = arg.tensor.layout();
  const bool floats = v.dtype == DType::kF32 || v.dtype == DType::kF64;
  if ((!floats && v.dtype != DType::kU8) || v.rank() < 2 || v.rank() > 4) {
    throw_error(
        "make_grid",
        joined("images must be float32, float64 or uint8, [N,C,H,W], [C,H,W] or [H,W], got ",
               type_text(v)),
        arg.where);
  }
  if (v.numel() < 1) {
    throw_error("make_grid", joined("there are no images or no pixels in ", type_text(v)),
                arg.where);
  }
  check_options(options, floats, arg.where);
  Images images;
  images.values = to_host(arg.tensor.detach(), arg.where).contiguous();
  const Shape& s = images.values.raw_shape();
  const auto r = static_cast<size_t>(v.rank());
  images.count = r == 4 ? s[0] : 1;
  images.channels = r >= 3 ? s[r - 3] : 1;
  images.height = s[r - 2];
  images.width = s[r - 1];
  return images;
}

// torchvision's norm_ip, in the images' own type.
template <class T>
void scale(const T* from, int64_t n, double low, double high, T* to) {
  const T least = static_cast<T>(low), most = static_cast<T>(high);
  const T span = static_cast<T>(std::max(high - low, 1e-5));
  for (int64_t i = 0; i < n; ++i) {
    const T x = from[i];
    to[i] = ((x < least ? least : x > most ? most : x) - least) / span;
  }
}

template <class T>
void normalize_block(const T* from, int64_t n, const GridOptions& o, const Where& where, T* to) {
  if (o.value_range) return scale(from, n, o.value_range->first, o.value_range->second, to);
  T low = from[0], high = from[0];
  bool finite = true;
  for (int64_t i = 0; i < n; ++i) {
    finite = finite && std::isfinite(from[i]);
    low = std::min(low, from[i]);
    high = std::max(high, from[i]);
  }
  if (!finite) {
    throw_error("make_grid",
                "normalize needs finite values to find their range, and there is a NaN or an "
                "infinity; give a value_range",
                where);
  }
  scale(from, n, static_cast<double>(low), static_cast<double>(high), to);
}

template <class T>
Tensor normalized(const Images& images, const GridOptions& o, const Where& where) {
  Tensor out = empty(images.values.raw_shape(), images.values.dtype());
  const auto* from = static_cast<const T*>(images.values.raw().data);
  auto* to = static_cast<T*>(out.raw().data);
  const int64_t block = o.scale_each ? images.each() : images.count * images.each();
  for (int64_t at = 0; at < images.count * images.each(); at += block) {
    normalize_block(from + at, block, o, where, to + at);
  }
  return out;
}

// As torch.full casts: what a byte cannot hold wraps, so it is an error here.
template <class T>
T pad_of(double value, const Where& where) {
  if constexpr (std::is_same_v<T, uint8_t>) {
    if (!(value >= 0 && value < 256)) {
      throw_error("make_grid", "pad_value must be 0 to 255 for uint8, got " + number_text(value),
                  where);
    }
  }
  return static_cast<T>(value);
}

template <class T>
Tensor arranged(const Images& images, const GridOptions& o, const Where& where) {
  // A single image has no frame.
  const bool one = images.count == 1;
  const int64_t padding = one ? 0 : o.padding;
  const int64_t columns = std::min(o.nrow, images.count);
  const int64_t rows = (images.count + columns - 1) / columns;
  const int64_t channels = images.channels == 1 ? 3 : images.channels;
  const int64_t step_y = images.height + padding, step_x = images.width + padding;
  const int64_t height = step_y * rows + padding, width = step_x * columns + padding;
  Tensor grid = empty({channels, height, width}, images.values.dtype());
  const auto* from = static_cast<const T*>(images.values.raw().data);
  auto* to = static_cast<T*>(grid.raw().data);
  std::fill(to, to + channels * height * width, pad_of<T>(o.pad_value, where));
  for (int64_t k = 0; k < images.count; ++k) {
    const int64_t top = k / columns * step_y + padding, left = k % columns * step_x + padding;
    for (int64_t c = 0; c < channels; ++c) {
      const int64_t plane = k * images.channels + (images.channels == 1 ? 0 : c);
      for (int64_t y = 0; y < images.height; ++y) {
        const T* row = from + (plane * images.height + y) * images.width;
        std::copy(row, row + images.width, to + (c * height + top + y) * width + left);
      }
    }
  }
  return grid;
}

template <class T>
Tensor grid_of(Images images, const GridOptions& o, const Where& where) {
  if constexpr (std::is_floating_point_v<T>) {
    if (o.normalize) images.values = normalized<T>(images, o, where);
  }
  return arranged<T>(images, o, where);
}

template <class T>
void round_to_bytes(const Tensor& image, uint8_t* to) {
  const auto* x = static_cast<const T*>(image.raw().data);
  for (int64_t i = 0; i < image.layout().numel(); ++i) {
    const T v = x[i] * T(255) + T(0.5);
    to[i] = v > 0 ? static_cast<uint8_t>(std::min(v, T(255))) : uint8_t{0};  // NaN is not above 0
  }
}

}  // namespace

Tensor make_grid(const Arg& arg, const GridOptions& options) {
  Images images = checked(arg, options);
  switch (images.values.dtype()) {
    case DType::kF32: return grid_of<float>(std::move(images), options, arg.where);
    case DType::kF64: return grid_of<double>(std::move(images), options, arg.where);
    default: return grid_of<uint8_t>(std::move(images), options, arg.where);
  }
}

Tensor make_grid(const std::vector<Tensor>& images, const GridOptions& options, Where where) {
  if (images.empty()) throw_error("make_grid", "there are no images in the list", where);
  const NoGrad guard;
  return make_grid(Arg(stack(images, 0, where), where), options);
}

Tensor to_bytes(const Arg& arg) {
  const DType dtype = arg.tensor.dtype(arg.where);
  if (dtype != DType::kF32 && dtype != DType::kF64) {
    throw_error("to_bytes",
                joined("the image must be float32 or float64 in 0..1, got ",
                       type_text(arg.tensor.layout())),
                arg.where);
  }
  const Tensor image = to_host(arg.tensor.detach(), arg.where).contiguous();
  Tensor bytes = empty(image.raw_shape(), DType::kU8);
  auto* to = static_cast<uint8_t*>(bytes.raw().data);
  if (dtype == DType::kF32) {
    round_to_bytes<float>(image, to);
  } else {
    round_to_bytes<double>(image, to);
  }
  return bytes;
}

void save_image(const Arg& images, const std::string& path, const GridOptions& options) {
  if (images.tensor.layout().dtype == DType::kU8) {
    throw_error("save_image",
                "the image is uint8; write_image writes bytes, or divide by 255 for floats in 0..1",
                images.where);
  }
  write_image(Arg(to_bytes(Arg(make_grid(images, options), images.where)), images.where), path);
}

void save_image(const std::vector<Tensor>& images, const std::string& path,
                const GridOptions& options, Where where) {
  if (images.empty()) throw_error("save_image", "there are no images in the list", where);
  const NoGrad guard;
  save_image(Arg(stack(images, 0, where), where), path, options);
}

}  // namespace wick::data
