// Images to PNG and JPEG files: what image_file.h reads.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "trainer/tensor/tensor.h"

namespace wick::data {

// A PNG file's bytes of a uint8 image [C, H, W]: C is 1 (grey), 2 (grey and alpha), 3 (RGB) or 4
// (RGBA), H and W at least 1. Eight bits a sample, not interlaced (ISO/IEC 15948); needs no libpng.
// Error: another dtype, rank or number of channels, an image without pixels.
std::vector<uint8_t> encode_png(const Arg& image);

// A JPEG file's bytes of a uint8 image [C, H, W], C 1 or 3, H and W 1 to 65500. `quality` is 1 to
// 100, libjpeg's scale; colour is subsampled 4:2:0, as torchvision.io.encode_jpeg and PIL do.
// Error: as encode_png, a quality out of its range, and kUnsupported in a build without libjpeg.
std::vector<uint8_t> encode_jpeg(const Arg& image, int quality = 75);

// Writes a uint8 image [C, H, W] to `path`, whose end says the format: .png, .jpg or .jpeg, in any
// case of letters. The file is the old one or the whole new one.
// Error: as above; another end of the name; a folder that is not there, a full disk (kIo).
void write_image(const Arg& image, const std::string& path);

}  // namespace wick::data
