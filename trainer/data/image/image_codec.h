// The decoders behind read_image(); internal.
#pragma once

#include <string>

#include "trainer/data/image/image_file.h"

namespace wick::data {

// Return uint8 or uint16 [H, W, C], as the libraries decode it, with C as in the file. Of the
// options only keep_16_bit is applied here; the mode is applied later.
HostArray decode_png(Span<const uint8_t> bytes, const std::string& name,
                     const ImageOptions& options);
HostArray decode_jpeg(Span<const uint8_t> bytes, const std::string& name,
                      const ImageOptions& options);

// Throws if width x height is zero or exceeds the budget.
void check_pixels(const char* reader, const std::string& name, uint64_t width, uint64_t height,
                  const ImageOptions& options);

}  // namespace wick::data
