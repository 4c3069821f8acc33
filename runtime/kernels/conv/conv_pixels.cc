#include "runtime/kernels/conv/conv_pixels.h"

#include <algorithm>
#include <cstring>
#include <type_traits>

#include "runtime/core/int_math.h"

namespace wick {
namespace {

size_t bytes_of(int64_t floats) { return sizeof(float) * static_cast<size_t>(floats); }

void clear(float* to, int64_t pixels, int64_t pixel, int64_t channels) {
  if (pixel == channels) {
    memset(to, 0, bytes_of(pixels * pixel));
    return;
  }
  for (int64_t i = 0; i < pixels; ++i) memset(to + i * pixel, 0, bytes_of(channels));
}

}  // namespace

Pixels::Pixels(const TensorView& v) {
  const int spatial = v.rank() - 2;  // a row of pixels is an image of one row
  channels = v.shape[1];
  h = spatial > 1 ? v.shape[2] : 1;
  w = v.shape[spatial + 1];
  block = v.block;
}

int64_t Pixels::at(int64_t image, int64_t channel, int64_t row, int64_t col) const {
  if (block == 0) return ((image * channels + channel) * h + row) * w + col;
  return (((image * ceil_div(channels, block) + channel / block) * h + row) * w + col) * block;
}

void load_pixels(const TileKernels& t, const Pixels& p, const float* x, const PixelPart& part,
                 float* to, int64_t pixel) {
  const int64_t lo = std::clamp<int64_t>(-part.col, 0, part.cols);
  const int64_t hi = std::clamp(p.w - part.col, lo, part.cols);
  for (int64_t r = part.row; r < part.row + part.rows; ++r, to += part.cols * pixel) {
    if (r < 0 || r >= p.h || lo == hi) {
      clear(to, part.cols, pixel, part.channels);
      continue;
    }
    clear(to, lo, pixel, part.channels);
    clear(to + hi * pixel, part.cols - hi, pixel, part.channels);
    float* inside = to + lo * pixel;
    if (p.block == 0) {
      t.transpose(x + p.at(part.image, part.channel, r, part.col + lo), p.h * p.w, inside, pixel,
                  part.channels, hi - lo);
      continue;
    }
    for (int64_t c = 0; c < part.channels; c += p.block) {
      const float* from = x + p.at(part.image, part.channel + c, r, part.col + lo);
      const int64_t some = std::min(p.block, part.channels - c);
      if (some == pixel && pixel == p.block) {
        memcpy(inside, from, bytes_of((hi - lo) * pixel));
        continue;
      }
      const auto copy = [&](auto size) {
        for (int64_t q = 0; q < hi - lo; ++q)
          memcpy(inside + q * pixel + c, from + q * p.block, size);
      };
      if (some == 16) {  // sizes that the compiler knows
        copy(std::integral_constant<size_t, 16 * sizeof(float)>());
      } else if (some == 8) {
        copy(std::integral_constant<size_t, 8 * sizeof(float)>());
      } else {
        copy(bytes_of(some));
      }
    }
  }
}

void store_pixels(const TileKernels& t, const Pixels& p, float* y, const PixelPart& part,
                  const float* from, int64_t from_row, int64_t pixel, const Epilogue& epilogue) {
  Epilogue e = epilogue;
  e.channel = p.block != 0 ? Epilogue::Channel::kColumn : Epilogue::Channel::kRow;
  const int64_t plane = p.h * p.w, step = p.block != 0 ? p.block : plane;
  e.residual_step = step;
  for (int64_t r = 0; r < part.rows; ++r, from += from_row) {
    for (int64_t c = 0; c < part.channels; c += p.block != 0 ? p.block : part.channels) {
      const int64_t at = p.at(part.image, part.channel + c, part.row + r, part.col);
      if (epilogue.residual != nullptr) e.residual = epilogue.residual + at;
      if (p.block == 0) {
        t.transpose(from, pixel, y + at, plane, part.cols, part.channels);
        if (!e.empty())
          t.finish(e, part.channel, y + at, plane, y + at, plane, part.channels, part.cols);
        continue;
      }
      const int64_t some = std::min(p.block, part.channels - c);
      if (some < p.block) memset(y + at, 0, bytes_of(part.cols * p.block));
      t.finish(e, part.channel + c, from + c, pixel, y + at, p.block, part.cols, some);
    }
  }
}

}  // namespace wick
