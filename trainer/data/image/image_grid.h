// Batches of images as one image, and images to files: torchvision.utils' make_grid and save_image.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "trainer/tensor/tensor.h"

namespace wick::data {

// torchvision's arguments and defaults.
struct GridOptions {
  int64_t nrow = 8;        // images side by side; at least 1
  int64_t padding = 2;     // pixels around each image, 0 to 2^20
  bool normalize = false;  // shift and scale to 0..1 by value_range; floats alone
  // The values that become 0 and 1; what lies outside is clamped. Without it the smallest and the
  // largest value. It has no effect without `normalize`.
  std::optional<std::pair<double, double>> value_range = {};
  bool scale_each = false;  // each image by its own smallest and largest value
  double pad_value = 0;     // what the padding holds
};

// Images [N, C, H, W], [C, H, W] or [H, W] (float32, float64 or uint8) as one image [C, H', W'] of
// the same dtype: nrow images a row, `padding` pixels around each of them. One channel becomes
// three equal ones. A single image comes back without padding, as torchvision gives it. Nothing of
// it is differentiable. Error: another dtype or rank; no images or no pixels; options out of their
// range; `normalize` of uint8, or of values that are not finite where they make the range
// (torchvision makes them NaN).
Tensor make_grid(const Arg& images, const GridOptions& options = {});
// The same of images of one shape and dtype, which are stacked first.
Tensor make_grid(const std::vector<Tensor>& images, const GridOptions& options = {},
                 Where where = Where::current());

// A float image of any shape, values in 0..1, as uint8 of the same shape: x * 255 + 0.5, clamped to
// 0..255, the fraction cut off. NaN becomes 0. Error: another dtype than float32 and float64.
Tensor to_bytes(const Arg& image);

// Writes make_grid(images, options), by to_bytes, to a .png, .jpg or .jpeg file (image_write.h).
// `images` as for make_grid, but floats alone: bytes are write_image's.
// Error: as make_grid and write_image.
void save_image(const Arg& images, const std::string& path, const GridOptions& options = {});
void save_image(const std::vector<Tensor>& images, const std::string& path,
                const GridOptions& options = {}, Where where = Where::current());

}  // namespace wick::data
