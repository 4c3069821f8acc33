// Replaces jpeg.cc if libjpeg is not installed.
#include "trainer/data/image_codec.h"

namespace wick::data {

HostArray decode_jpeg(Span<const uint8_t>, const std::string& name, const ImageOptions&) {
  throw Error(
      "[jpeg] " + name + ": Wick was built without libjpeg: install libjpeg-dev and build again",
      Code::kUnsupported);
}

}  // namespace wick::data
