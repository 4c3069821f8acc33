// Decodes JPEG with libjpeg. It reports errors by longjmp, so the skipped scopes must have no
// destructors. Damage for which libjpeg only warns and paints grey is an error here.
#include <cstdio>
// jpeglib.h needs FILE before it.
#include <jerror.h>
#include <jpeglib.h>

#include <algorithm>
#include <csetjmp>
#include <cstring>

#include "trainer/data/image/image_codec.h"

namespace wick::data {
namespace {

// Huffman codes take a bit of each block of 64 pixels. Arithmetic codes and the scans behind the
// first one take less: a few bytes could cost much memory and time. Images that are blank have up
// to 8 blocks a byte, in ten scans.
constexpr uint64_t kMostBlocks = 16;       // of one component, a byte of the file
constexpr uint64_t kMostBlocksRead = 256;  // by all scans

struct JpegReader {
  jpeg_decompress_struct jpeg;
  jpeg_error_mgr errors;
  jpeg_progress_mgr progress;
  uint64_t most_scans = 0;
  char message[JMSG_LENGTH_MAX] = {};
  std::jmp_buf jump;

  JpegReader() { std::memset(&jpeg, 0, sizeof(jpeg)); }
  ~JpegReader() { jpeg_destroy_decompress(&jpeg); }
};

[[noreturn]] void on_error(j_common_ptr c) {
  auto* r = static_cast<JpegReader*>(c->client_data);
  c->err->format_message(c, r->message);
  std::longjmp(r->jump, 1);
}
void on_message(j_common_ptr c, int level) {
  int code = c->err->msg_code;
  // These say nothing of the pixels: bytes between markers, versions of the wrapping.
  bool harmless =
      code == JWRN_EXTRANEOUS_DATA || code == JWRN_JFIF_MAJOR || code == JWRN_ADOBE_XFORM;
  if (level < 0 && !harmless) on_error(c);
}
void on_output(j_common_ptr) {}
void on_progress(j_common_ptr c) {
  auto* r = static_cast<JpegReader*>(c->client_data);
  if (static_cast<uint64_t>(r->jpeg.input_scan_number) <= r->most_scans) return;
  snprintf(r->message, sizeof r->message, "more than %llu scans for a file of its size",
           static_cast<unsigned long long>(r->most_scans));
  std::longjmp(r->jump, 1);
}

bool read_header(JpegReader& r, Span<const uint8_t> bytes) {
  r.jpeg.err = jpeg_std_error(&r.errors);
  r.errors.error_exit = on_error;
  r.errors.emit_message = on_message;
  r.errors.output_message = on_output;
  r.jpeg.client_data = &r;
  if (setjmp(r.jump) != 0) return false;
  jpeg_create_decompress(&r.jpeg);
  r.jpeg.mem->max_memory_to_use = 1L << 30;
  jpeg_mem_src(&r.jpeg, bytes.data(), bytes.size());
  jpeg_read_header(&r.jpeg, TRUE);
  return true;
}

bool start(JpegReader& r) {
  if (setjmp(r.jump) != 0) return false;
  // With the default method, builds of the library with and without SIMD give the same results.
  r.jpeg.dct_method = JDCT_ISLOW;
  jpeg_start_decompress(&r.jpeg);
  return true;
}

bool read_rows(JpegReader& r, uint8_t* to, size_t row_bytes) {
  if (setjmp(r.jump) != 0) return false;
  while (r.jpeg.output_scanline < r.jpeg.output_height) {
    JSAMPROW row = to + r.jpeg.output_scanline * row_bytes;
    jpeg_read_scanlines(&r.jpeg, &row, 1);
  }
  jpeg_finish_decompress(&r.jpeg);
  return true;
}

}  // namespace

HostArray decode_jpeg(Span<const uint8_t> bytes, const std::string& name,
                      const ImageOptions& options) {
  JpegReader r;
  auto fail = [&] { throw Error("[jpeg] " + name + ": " + r.message, Code::kIo); };
  if (!read_header(r, bytes)) fail();
  check_pixels("jpeg", name, r.jpeg.image_width, r.jpeg.image_height, options);
  const uint64_t blocks = uint64_t{r.jpeg.image_width} * r.jpeg.image_height / 64;
  if (blocks / kMostBlocks > bytes.size()) {
    throw Error("[jpeg] " + name + ": " + std::to_string(r.jpeg.image_width) + " x " +
                    std::to_string(r.jpeg.image_height) + " pixels do not fit into its " +
                    std::to_string(bytes.size()) + " bytes",
                Code::kIo);
  }
  if (r.jpeg.num_components == 1) {
    r.jpeg.out_color_space = JCS_GRAYSCALE;
  } else if (r.jpeg.num_components == 3) {
    r.jpeg.out_color_space = JCS_RGB;
  } else {
    throw Error("[jpeg] " + name + ": " + std::to_string(r.jpeg.num_components) +
                    " colours (CMYK): convert it to RGB",
                Code::kUnsupported);
  }
  r.most_scans = kMostBlocksRead * bytes.size() / std::max<uint64_t>(blocks, 1);
  r.progress.progress_monitor = on_progress;
  r.jpeg.progress = &r.progress;
  if (!start(r)) fail();
  HostArray image;
  image.dtype = DType::kU8;
  image.shape = {r.jpeg.output_height, r.jpeg.output_width, r.jpeg.output_components};
  size_t row_bytes = size_t{r.jpeg.output_width} * static_cast<size_t>(r.jpeg.output_components);
  image.bytes.resize(row_bytes * r.jpeg.output_height);
  if (!read_rows(r, image.bytes.data(), row_bytes)) fail();
  return image;
}

}  // namespace wick::data
