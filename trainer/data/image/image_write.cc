#include "trainer/data/image/image_write.h"

#include <zlib.h>

#include <array>
#include <cstdlib>
#include <string_view>

#include "runtime/core/atomic_file.h"
#include "trainer/data/image/image_rows.h"
#include "trainer/explain/values.h"
#include "trainer/tensor/device/vulkan_memory.h"

namespace wick::data {
namespace {

void put_big(std::vector<uint8_t>& to, uint32_t v) {
  for (int shift = 24; shift >= 0; shift -= 8) to.push_back(static_cast<uint8_t>(v >> shift));
}

// Length, type, data, and the CRC of type and data.
void put_chunk(std::vector<uint8_t>& to, std::string_view type, Span<const uint8_t> data) {
  put_big(to, static_cast<uint32_t>(data.size()));
  const size_t from = to.size();
  to.insert(to.end(), type.begin(), type.end());
  to.insert(to.end(), data.begin(), data.end());
  put_big(to,
          static_cast<uint32_t>(crc32(0, to.data() + from, static_cast<uInt>(to.size() - from))));
}

uint8_t paeth(int left, int up, int corner) {
  const int a = std::abs(up - corner), b = std::abs(left - corner);
  const int c = std::abs(left + up - 2 * corner);
  return static_cast<uint8_t>(a <= b && a <= c ? left : b <= c ? up : corner);
}

// Filter `type` of a row. `above` is null in the first one; `step`: bytes of a pixel.
void filter_row(int type, const uint8_t* row, const uint8_t* above, size_t n, size_t step,
                uint8_t* to) {
  for (size_t i = 0; i < n; ++i) {
    const int left = i >= step ? row[i - step] : 0, up = above != nullptr ? above[i] : 0;
    const int corner = i >= step && above != nullptr ? above[i - step] : 0;
    const int guess[] = {0, left, up, (left + up) / 2, paeth(left, up, corner)};
    to[i] = static_cast<uint8_t>(row[i] - guess[type]);
  }
}

// Every row behind the number of its filter: the one whose bytes are the least as signed numbers,
// which is what the specification advises (12.7).
std::vector<uint8_t> filtered(const ImageRows& image) {
  const size_t n = image.row_bytes(), step = static_cast<size_t>(image.channels);
  std::vector<uint8_t> all, tried(n), best(n);
  all.reserve((n + 1) * static_cast<size_t>(image.height));
  for (int64_t y = 0; y < image.height; ++y) {
    const uint8_t* row = image.row(y);
    const uint8_t* above = y > 0 ? image.row(y - 1) : nullptr;
    uint64_t least = UINT64_MAX;
    int chosen = 0;
    for (int type = 0; type < 5; ++type) {
      filter_row(type, row, above, n, step, tried.data());
      uint64_t sum = 0;
      for (uint8_t b : tried) sum += static_cast<uint64_t>(b < 128 ? b : 256 - b);
      if (sum >= least) continue;
      least = sum;
      chosen = type;
      best.swap(tried);
    }
    all.push_back(static_cast<uint8_t>(chosen));
    all.insert(all.end(), best.begin(), best.end());
  }
  return all;
}

std::vector<uint8_t> deflated(const std::vector<uint8_t>& bytes, const Where& where) {
  uLongf size = compressBound(static_cast<uLong>(bytes.size()));
  std::vector<uint8_t> packed(size);
  const int done = compress2(packed.data(), &size, bytes.data(), static_cast<uLong>(bytes.size()),
                             Z_DEFAULT_COMPRESSION);
  if (done != Z_OK) throw_error("encode_png", "out of memory", where, Code::kOutOfMemory);
  packed.resize(size);
  return packed;
}

std::string end_of(const std::string& path) {
  const size_t dot = path.rfind('.');
  if (dot == std::string::npos || path.find('/', dot) != std::string::npos) return "";
  std::string end = path.substr(dot);
  for (char& c : end) c = static_cast<char>(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
  return end;
}

}  // namespace

ImageRows image_rows(const char* op, const Arg& image, int64_t most_channels) {
  const TensorView v = image.tensor.layout();
  if (v.dtype != DType::kU8 || v.rank() != 3 || v.shape[0] < 1 || v.shape[0] > most_channels) {
    throw_error(op,
                joined("the image must be uint8 [C,H,W] with C from 1 to ",
                       std::to_string(most_channels), ", got ", type_text(v),
                       is_float(v.dtype) ? "; save_image takes floats in 0..1" : ""),
                image.where);
  }
  constexpr int64_t kSide = int64_t{1} << 24, kBytes = int64_t{1} << 31;
  if (v.numel() < 1 || v.shape[1] > kSide || v.shape[2] > kSide || v.numel() >= kBytes) {
    throw_error(op,
                joined("the image ", type_text(v),
                       v.numel() < 1 ? " has no pixels" : " is larger than 2 GiB or 2^24 a side"),
                image.where);
  }
  const Tensor planes = to_host(image.tensor.detach(), image.where).contiguous();
  ImageRows rows;
  rows.channels = v.shape[0];
  rows.height = v.shape[1];
  rows.width = v.shape[2];
  const auto* from = static_cast<const uint8_t*>(planes.raw().data);
  const auto pixels = static_cast<size_t>(rows.height * rows.width);
  const auto step = static_cast<size_t>(rows.channels);
  rows.bytes.resize(pixels * step);
  for (size_t c = 0; c < step; ++c) {
    for (size_t p = 0; p < pixels; ++p) rows.bytes[p * step + c] = from[c * pixels + p];
  }
  return rows;
}

std::vector<uint8_t> encode_png(const Arg& image) {
  const ImageRows rows = image_rows("encode_png", image, 4);
  constexpr uint8_t kColor[] = {0, 4, 2, 6};  // grey, grey and alpha, RGB, RGBA
  std::vector<uint8_t> header;
  put_big(header, static_cast<uint32_t>(rows.width));
  put_big(header, static_cast<uint32_t>(rows.height));
  // Eight bits; deflate, the five filters and no interlacing are the zeros.
  header.insert(header.end(), {8, kColor[rows.channels - 1], 0, 0, 0});
  const std::vector<uint8_t> packed = deflated(filtered(rows), image.where);
  std::vector<uint8_t> file = {0x89, 'P', 'N', 'G', '\r', '\n', 0x1a, '\n'};
  put_chunk(file, "IHDR", {header.data(), header.size()});
  // A chunk's length has 31 bits; libpng takes no more than that of one either.
  constexpr size_t kChunk = size_t{1} << 26;
  for (size_t at = 0; at < packed.size(); at += kChunk) {
    put_chunk(file, "IDAT", {packed.data() + at, std::min(kChunk, packed.size() - at)});
  }
  put_chunk(file, "IEND", {});
  return file;
}

void write_image(const Arg& image, const std::string& path) {
  const std::string end = end_of(path);
  const bool png = end == ".png";
  if (!png && end != ".jpg" && end != ".jpeg") {
    throw_error("write_image", path + ": the name must end in .png, .jpg or .jpeg", image.where);
  }
  const std::vector<uint8_t> file = png ? encode_png(image) : encode_jpeg(image);
  check_status("write_image", write_file_atomically(path.c_str(), file.data(), file.size()),
               image.where);
}

}  // namespace wick::data
