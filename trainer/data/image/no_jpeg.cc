// Replaces jpeg.cc and jpeg_write.cc if libjpeg is not installed.
#include "trainer/data/image/image_codec.h"
#include "trainer/data/image/image_write.h"

namespace wick::data {

HostArray decode_jpeg(Span<const uint8_t>, const std::string& name, const ImageOptions&) {
  throw Error(
      "[jpeg] " + name + ": Wick was built without libjpeg: install libjpeg-dev and build again",
      Code::kUnsupported);
}

std::vector<uint8_t> encode_jpeg(const Arg& image, int) {
  throw_error("encode_jpeg",
              "Wick was built without libjpeg: write .png, or install libjpeg-dev and build again",
              image.where, Code::kUnsupported);
}

}  // namespace wick::data
