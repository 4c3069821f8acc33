// Writes images with explicit padding. Separate from conv.cc, which is built for size.
#include <algorithm>
#include <cstring>

#include "runtime/core/stop.h"
#include "runtime/kernels/conv/conv.h"

namespace wick {
namespace {

// Divides by an image split, rounding up; small channels would notice real divisions.
int64_t split_ceil(int64_t a, int64_t b) {
  return b == 1 ? a : b == 2 ? (a + 1) / 2 : (a + b - 1) / b;
}

}  // namespace

void pad_channels(const TileKernels& kernels, const PaddedImage& image, const float* x,
                  int64_t channels, int64_t h, int64_t w, int64_t pad_top, int64_t pad_left,
                  float* out) {
  Poll poll;
  for (int64_t ph = 0; ph < image.planes_h; ++ph) {
    // Rows [top, bottom) of these planes are inside the input.
    const int64_t down = pad_top - ph;
    const int64_t top =
        std::clamp<int64_t>(split_ceil(std::max<int64_t>(down, 0), image.split_h), 0, image.rows);
    const int64_t bottom = std::clamp<int64_t>(
        split_ceil(std::max<int64_t>(h + down, 0), image.split_h), top, image.rows);
    for (int64_t pw = 0; pw < image.planes_w; ++pw, out += image.rows * image.cols) {
      // Columns [lo, hi) are inside, too.
      const int64_t shift = pad_left - pw;
      const int64_t lo = std::clamp<int64_t>(split_ceil(std::max<int64_t>(shift, 0), image.split_w),
                                             0, image.cols);
      const int64_t hi = std::clamp<int64_t>(
          split_ceil(std::max<int64_t>(w + shift, 0), image.split_w), lo, image.cols);
      const int64_t first = top < bottom ? (top * image.split_h - down) * w : 0;
      const int64_t skipped = lo < hi ? lo * image.split_w - shift : 0;
      for (int64_t c = 0; c < channels; ++c) {
        if (poll(image.rows * image.cols)) return;
        float* plane = out + c * image.channel_floats();
        memset(plane, 0, sizeof(float) * static_cast<size_t>(top * image.cols));
        memset(plane + bottom * image.cols, 0,
               sizeof(float) * static_cast<size_t>((image.rows - bottom) * image.cols));
        kernels.pad_rows(x + c * h * w + first + skipped, image.split_h * w, image.split_w,
                         bottom - top, lo, hi, image.cols, plane + top * image.cols);
      }
    }
  }
}

}  // namespace wick
