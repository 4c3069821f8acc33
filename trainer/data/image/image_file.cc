#include "trainer/data/image/image_file.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>

#include "runtime/core/regular_file.h"
#include "trainer/data/image/image_codec.h"
#include "trainer/data/read_time.h"

namespace wick::data {
namespace {

int channels_of(ImageMode mode, int in_file) {
  switch (mode) {
    case ImageMode::kUnchanged: return in_file;
    case ImageMode::kGray: return 1;
    case ImageMode::kGrayAlpha: return 2;
    case ImageMode::kRgb: return 3;
    case ImageMode::kRgbAlpha: return 4;
  }
  return in_file;
}

// Converts [H, W, from] to [to, H, W].
template <class T>
void arrange(const T* in, size_t pixels, int from, T* out, int to, T opaque) {
  bool color_in = from >= 3, color_out = to >= 3;
  bool alpha_in = from == 2 || from == 4;
  auto in_step = static_cast<size_t>(from);
  for (size_t p = 0; p < pixels; ++p) {
    const T* x = in + p * in_step;
    if (color_out) {
      for (size_t c = 0; c < 3; ++c) out[c * pixels + p] = x[color_in ? c : 0];
    } else if (color_in) {
      uint64_t grey = uint64_t{19595} * x[0] + uint64_t{38470} * x[1] + uint64_t{7471} * x[2];
      out[p] = static_cast<T>((grey + 32768) >> 16);
    } else {
      out[p] = x[0];
    }
    if (to == 2 || to == 4) {
      out[static_cast<size_t>(to - 1) * pixels + p] = alpha_in ? x[in_step - 1] : opaque;
    }
  }
}

}  // namespace

void check_pixels(const char* reader, const std::string& name, uint64_t width, uint64_t height,
                  const ImageOptions& options) {
  auto budget = static_cast<uint64_t>(options.max_pixels);
  if (width == 0 || height == 0 || width > budget || height > budget || width * height > budget) {
    throw Error(std::string("[") + reader + "] " + name + ": " + std::to_string(width) + " x " +
                    std::to_string(height) + " pixels, the budget (max_pixels) is " +
                    std::to_string(budget),
                Code::kBudgetExceeded);
  }
}

Tensor decode_image(Span<const uint8_t> bytes, const std::string& name,
                    const ImageOptions& options) {
  if (options.max_pixels < 1 || options.max_pixels > int64_t{1} << 31) {
    throw Error("[image] max_pixels " + std::to_string(options.max_pixels) + " (1 to 2^31)");
  }
  HostArray image;
  if (bytes.size() >= 8 && std::memcmp(bytes.data(), "\x89PNG\r\n\x1a\n", 8) == 0) {
    image = decode_png(bytes, name, options);
  } else if (bytes.size() >= 3 && std::memcmp(bytes.data(), "\xff\xd8\xff", 3) == 0) {
    image = decode_jpeg(bytes, name, options);
  } else {
    throw Error(
        "[image] " + name + ": neither PNG nor JPEG (" + std::to_string(bytes.size()) + " bytes)",
        Code::kIo);
  }
  int64_t height = image.shape[0], width = image.shape[1];
  int from = static_cast<int>(image.shape[2]), to = channels_of(options.mode, from);
  Tensor out = empty({to, height, width}, image.dtype);
  auto pixels = static_cast<size_t>(height * width);
  if (image.dtype == DType::kU16) {
    arrange(image.as<uint16_t>(), pixels, from, static_cast<uint16_t*>(out.raw().data), to,
            uint16_t{65535});
  } else {
    arrange(image.as<uint8_t>(), pixels, from, static_cast<uint8_t*>(out.raw().data), to,
            uint8_t{255});
  }
  return out;
}

Tensor read_image(const std::string& path, const ImageOptions& options) {
  std::vector<uint8_t> bytes = read_file("image", path, options.max_file_bytes);
  return decode_image({bytes.data(), bytes.size()}, path, options);
}

std::vector<uint8_t> read_file(const std::string& reader, const std::string& path, int64_t budget) {
  ReadScope time;
  if (path.find('\0') != std::string::npos) {
    throw Error("[" + reader + "] a file name with a NUL byte: " + path.c_str());
  }
  RegularFile opened;
  const Status s = opened.open(path.c_str());
  if (!s.ok()) throw Error("[" + reader + "] cannot open " + path + ": " + s.message(), s.code());
  errno = 0;
  std::unique_ptr<FILE, int (*)(FILE*)> file(fdopen(opened.fd(), "rb"), &std::fclose);
  if (!file) throw Error("[" + reader + "] cannot open " + path + ": " + std::strerror(errno));
  opened.release();  // the stream owns it now
  std::vector<uint8_t> bytes;
  size_t step = 1 << 16, got = 0;
  do {
    size_t at = bytes.size();
    bytes.resize(at + step);
    got = std::fread(bytes.data() + at, 1, step, file.get());
    bytes.resize(at + got);
    if (static_cast<int64_t>(bytes.size()) > budget) {
      throw Error("[" + reader + "] " + path + ": larger than the budget of " +
                      std::to_string(budget) + " bytes",
                  Code::kBudgetExceeded);
    }
    step = std::min<size_t>(step * 2, 1 << 24);
  } while (got > 0);
  if (std::ferror(file.get())) {
    throw Error("[" + reader + "] " + path + ": cannot be read: " + std::strerror(errno),
                Code::kIo);
  }
  time.add(bytes.size());
  return bytes;
}

}  // namespace wick::data
