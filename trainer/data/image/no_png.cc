// Replaces png.cc if libpng is not installed.
#include "trainer/data/image/image_codec.h"

namespace wick::data {

HostArray decode_png(Span<const uint8_t>, const std::string& name, const ImageOptions&) {
  throw Error(
      "[png] " + name + ": Wick was built without libpng: install libpng-dev and build again",
      Code::kUnsupported);
}

}  // namespace wick::data
