// Decodes PNG with libpng. It reports errors by longjmp, so the skipped scopes must have no
// destructors.
#include <png.h>

#include <csetjmp>
#include <cstring>

#include "trainer/data/image/image_codec.h"

namespace wick::data {
namespace {

struct PngReader {
  Span<const uint8_t> bytes;
  size_t at = 0;
  char message[256] = {};
  png_structp png = nullptr;
  png_infop info = nullptr;
  std::jmp_buf jump;

  ~PngReader() { png_destroy_read_struct(&png, &info, nullptr); }
};

[[noreturn]] void on_error(png_structp png, png_const_charp text) {
  auto* reader = static_cast<PngReader*>(png_get_error_ptr(png));
  std::strncpy(reader->message, text, sizeof(reader->message) - 1);
  std::longjmp(reader->jump, 1);
}
void on_warning(png_structp, png_const_charp) {}

void on_read(png_structp png, png_bytep to, size_t n) {
  auto* reader = static_cast<PngReader*>(png_get_io_ptr(png));
  if (reader->bytes.size() - reader->at < n) png_error(png, "the file is cut short");
  std::memcpy(to, reader->bytes.data() + reader->at, n);
  reader->at += n;
}

struct Header {
  uint32_t width = 0, height = 0;
  int depth = 0;
};

bool read_header(PngReader& r, Header& h) {
  if (setjmp(r.jump) != 0) return false;
  png_set_read_fn(r.png, &r, on_read);
  png_set_user_limits(r.png, 0x7fffffff, 0x7fffffff);  // the budget is checked below
  png_set_chunk_malloc_max(r.png, 8 << 20);
  png_set_crc_action(r.png, PNG_CRC_ERROR_QUIT, PNG_CRC_ERROR_QUIT);
  png_read_info(r.png, r.info);
  h.width = png_get_image_width(r.png, r.info);
  h.height = png_get_image_height(r.png, r.info);
  h.depth = png_get_bit_depth(r.png, r.info);
  return true;
}

// Sets the output form: 8 or 16 bits, no palette, native byte order.
bool set_form(PngReader& r, bool keep_16, int* channels, size_t* row_bytes, int* passes) {
  if (setjmp(r.jump) != 0) return false;
  png_set_expand(r.png);
  if (png_get_bit_depth(r.png, r.info) == 16) {
    if (keep_16) {
      png_set_swap(r.png);
    } else {
      png_set_scale_16(r.png);
    }
  }
  *passes = png_set_interlace_handling(r.png);
  png_read_update_info(r.png, r.info);
  *channels = png_get_channels(r.png, r.info);
  *row_bytes = png_get_rowbytes(r.png, r.info);
  return true;
}

bool read_rows(PngReader& r, uint8_t* to, size_t row_bytes, uint32_t height, int passes) {
  if (setjmp(r.jump) != 0) return false;
  for (int pass = 0; pass < passes; ++pass) {
    for (uint32_t y = 0; y < height; ++y) png_read_row(r.png, to + y * row_bytes, nullptr);
  }
  png_read_end(r.png, nullptr);
  return true;
}

}  // namespace

HostArray decode_png(Span<const uint8_t> bytes, const std::string& name,
                     const ImageOptions& options) {
  PngReader r;
  r.bytes = bytes;
  auto fail = [&] { throw Error("[png] " + name + ": " + r.message, Code::kIo); };
  r.png = png_create_read_struct(PNG_LIBPNG_VER_STRING, &r, on_error, on_warning);
  if (r.png != nullptr) r.info = png_create_info_struct(r.png);
  if (r.info == nullptr) throw Error("[png] " + name + ": out of memory", Code::kOutOfMemory);
  Header h;
  if (!read_header(r, h)) fail();
  check_pixels("png", name, h.width, h.height, options);
  int channels = 0, passes = 0;
  size_t row_bytes = 0;
  bool keep_16 = h.depth == 16 && options.keep_16_bit;
  if (!set_form(r, keep_16, &channels, &row_bytes, &passes)) fail();
  HostArray image;
  image.dtype = keep_16 ? DType::kU16 : DType::kU8;
  image.shape = {h.height, h.width, channels};
  // A few bytes can announce a huge image: sizes beyond deflate's best ratio (1032 : 1) are
  // refused.
  uint64_t need = uint64_t{row_bytes} * h.height;
  if (need / 1100 > bytes.size()) {
    throw Error("[png] " + name + ": " + std::to_string(h.width) + " x " +
                    std::to_string(h.height) + " pixels do not fit into its " +
                    std::to_string(bytes.size()) + " bytes",
                Code::kIo);
  }
  image.bytes.resize(need);
  if (!read_rows(r, image.bytes.data(), row_bytes, h.height, passes)) fail();
  return image;
}

}  // namespace wick::data
