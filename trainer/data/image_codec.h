// The decoders behind read_image(); internal.
#pragma once

#include <string>

#include "trainer/data/image_file.h"

namespace wick::data {

// uint8 or uint16 [H, W, C], C as in the file: what libraries give. The mode is applied later, but
// for keep_16_bit.
HostArray decode_png(Span<const uint8_t> bytes, const std::string& name,
                     const ImageOptions& options);
HostArray decode_jpeg(Span<const uint8_t> bytes, const std::string& name,
                      const ImageOptions& options);

// Throws where width x height is nothing or over the budget.
void check_pixels(const char* reader, const std::string& name, uint64_t width, uint64_t height,
                  const ImageOptions& options);

}  // namespace wick::data
