// Decodes PNG and JPEG files to bytes. Sizes are checked against a budget before anything is
// decoded; damaged and truncated files are errors that name the file.
#pragma once

#include <string>
#include <vector>

#include "runtime/core/span.h"
#include "trainer/data/host_array.h"
#include "trainer/tensor/tensor.h"

namespace wick::data {

// The modes of torchvision.io.ImageReadMode.
enum class ImageMode { kUnchanged, kGray, kGrayAlpha, kRgb, kRgbAlpha };

// Options of read_image(), decode_image() and ImageFolder.
struct ImageOptions {
  // Unchanged: 1 channel is grey, 2 are grey and alpha, 3 RGB, 4 RGBA; a palette becomes RGB or
  // RGBA. Color to grey is PIL's "L": (19595 R + 38470 G + 7471 B + 32768) >> 16. Alpha is dropped,
  // or added as opaque.
  ImageMode mode = ImageMode::kRgb;
  bool keep_16_bit = false;  // gives uint16 for a 16-bit PNG, which otherwise is scaled to 8 bits
  // More pixels, or a larger file, are an Error.
  int64_t max_pixels = int64_t{1} << 26;
  int64_t max_file_bytes = int64_t{1} << 28;
};

// Returns uint8 (or uint16) [C, H, W], as torchvision.io.read_image does.
Tensor read_image(const std::string& path, const ImageOptions& options = {});
// The same for bytes in memory; `name` is their name in errors.
Tensor decode_image(Span<const uint8_t> bytes, const std::string& name,
                    const ImageOptions& options = {});

// Returns a file's bytes, at most `budget`; errors start with `reader`.
std::vector<uint8_t> read_file(const std::string& reader, const std::string& path, int64_t budget);

}  // namespace wick::data
