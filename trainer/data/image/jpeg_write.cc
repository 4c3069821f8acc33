// JPEG by libjpeg, written. Its errors leave by longjmp: what they jump over has no destructors.
#include <cstdio>
// jpeglib.h needs FILE before it.
#include <jpeglib.h>

#include <csetjmp>
#include <cstdlib>
#include <cstring>

#include "trainer/data/image/image_rows.h"
#include "trainer/data/image/image_write.h"

namespace wick::data {
namespace {

struct JpegWriter {
  jpeg_compress_struct jpeg;
  jpeg_error_mgr errors;
  char message[JMSG_LENGTH_MAX] = {};
  unsigned char* file = nullptr;  // malloc's
  unsigned long size = 0;
  std::jmp_buf jump;

  JpegWriter() { std::memset(&jpeg, 0, sizeof(jpeg)); }
  ~JpegWriter() {
    jpeg_destroy_compress(&jpeg);
    std::free(file);
  }
};

[[noreturn]] void on_write_error(j_common_ptr c) {
  auto* w = static_cast<JpegWriter*>(c->client_data);
  c->err->format_message(c, w->message);
  std::longjmp(w->jump, 1);
}
void on_write_message(j_common_ptr, int) {}

bool write_rows(JpegWriter& w, const ImageRows& image, int quality) {
  w.jpeg.err = jpeg_std_error(&w.errors);
  w.errors.error_exit = on_write_error;
  w.errors.emit_message = on_write_message;
  w.jpeg.client_data = &w;
  if (setjmp(w.jump) != 0) return false;
  jpeg_create_compress(&w.jpeg);
  jpeg_mem_dest(&w.jpeg, &w.file, &w.size);
  w.jpeg.image_width = static_cast<JDIMENSION>(image.width);
  w.jpeg.image_height = static_cast<JDIMENSION>(image.height);
  w.jpeg.input_components = static_cast<int>(image.channels);
  w.jpeg.in_color_space = image.channels == 3 ? JCS_RGB : JCS_GRAYSCALE;
  jpeg_set_defaults(&w.jpeg);
  jpeg_set_quality(&w.jpeg, quality, TRUE);
  jpeg_start_compress(&w.jpeg, TRUE);
  while (w.jpeg.next_scanline < w.jpeg.image_height) {
    // libjpeg reads the row alone, but its type has no const.
    JSAMPROW row = const_cast<JSAMPROW>(image.row(w.jpeg.next_scanline));
    jpeg_write_scanlines(&w.jpeg, &row, 1);
  }
  jpeg_finish_compress(&w.jpeg);
  return true;
}

}  // namespace

std::vector<uint8_t> encode_jpeg(const Arg& image, int quality) {
  if (quality < 1 || quality > 100) {
    throw_error("encode_jpeg", "quality must be 1 to 100, got " + std::to_string(quality),
                image.where);
  }
  const ImageRows rows = image_rows("encode_jpeg", image, 3);
  if (rows.channels == 2) {
    throw_error("encode_jpeg", "an image of 2 channels: JPEG has 1 (grey) or 3 (RGB)", image.where);
  }
  JpegWriter w;
  if (!write_rows(w, rows, quality)) throw_error("encode_jpeg", w.message, image.where);
  return {w.file, w.file + w.size};
}

}  // namespace wick::data
