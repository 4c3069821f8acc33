// Where RoiAlign and MaxRoiPool read: the kernels, and the gradients of the trainer, ask here.
#pragma once

#include "runtime/kernels/reference/real.h"

namespace wick::reference {

// The limit of samples per bin when they depend on the region's size; it exceeds those of a whole
// image.
inline constexpr int64_t kMaxBin = 1 << 14;

// The four neighbours of a point and their weights.
template <class R>
struct Corner {
  int64_t at[4] = {};
  R weight[4] = {};
};

template <class R>
Corner<R> corner(R y, R x, int64_t height, int64_t width) {
  Corner<R> c;
  if (!(y >= -1 && y <= static_cast<R>(height) && x >= -1 && x <= static_cast<R>(width))) return c;
  y = y > 0 ? y : 0, x = x > 0 ? x : 0;
  auto top = static_cast<int64_t>(y), left = static_cast<int64_t>(x);
  int64_t bottom = top + 1, right = left + 1;
  if (top >= height - 1) top = bottom = height - 1, y = static_cast<R>(top);
  if (left >= width - 1) left = right = width - 1, x = static_cast<R>(left);
  const R down = y - static_cast<R>(top), along = x - static_cast<R>(left);
  const R up = 1 - down, back = 1 - along;
  c = {{top * width + left, top * width + right, bottom * width + left, bottom * width + right},
       {up * back, up * along, down * back, down * along}};
  return c;
}

// The positions of a bin's samples along one dim. They are monotonic, so those inside the image
// form one range.
template <class R>
struct Samples {
  R begin, size;  // of the bin
  int64_t count;

  R at(int64_t i) const {
    return begin + (static_cast<R>(i) + R(0.5)) * size / static_cast<R>(count);
  }
  // Samples [*first, *last) are those for which corner() finds pixels; any other is outside the
  // image.
  void inside(int64_t extent, int64_t* first, int64_t* last) const {
    *first = *last = 0;
    if (count == 0 || at(0) != at(0) || at(count - 1) != at(count - 1)) return;
    const R end = static_cast<R>(extent);
    const bool up = at(count - 1) >= at(0);
    const auto leading = [&](auto&& holds) {  // number of leading samples for which it holds
      int64_t low = 0, high = count;
      while (low < high) {
        const int64_t middle = low + (high - low) / 2;
        if (holds(at(middle))) {
          low = middle + 1;
        } else {
          high = middle;
        }
      }
      return low;
    };
    *first = leading([&](R p) { return up ? p < -1 : p > end; });
    *last = leading([&](R p) { return up ? p <= end : p >= -1; });
  }
};

// One region: the start of its first bin, the size of a bin and its number of samples.
template <class R>
struct Region {
  R top, left, bin_height, bin_width;
  int64_t rows, columns;

  // Return the samples of a bin in this row, or column, of bins.
  Samples<R> in_row(int64_t bin) const {
    return {top + static_cast<R>(bin) * bin_height, bin_height, rows};
  }
  Samples<R> in_column(int64_t bin) const {
    return {left + static_cast<R>(bin) * bin_width, bin_width, columns};
  }
};

// Returns an error for a region that is too large to choose its samples by size.
template <class R, class T>
Status region(const RoiAlignAttrs& a, const T* roi, int64_t number, Region<R>* r) {
  const R scale = static_cast<R>(a.spatial_scale), shift = a.half_pixel != 0 ? R(0.5) : R(0);
  R edge[4];
  for (int i = 0; i < 4; ++i) edge[i] = static_cast<R>(roi[i]) * scale - shift;
  r->left = edge[0], r->top = edge[1];
  R width = edge[2] - edge[0], height = edge[3] - edge[1];
  if (a.half_pixel == 0) width = width > 1 ? width : 1, height = height > 1 ? height : 1;
  r->bin_height = height / static_cast<R>(a.output_height);
  r->bin_width = width / static_cast<R>(a.output_width);
  r->rows = r->columns = a.sampling_ratio;
  if (a.sampling_ratio > 0) return {};
  const R rows = std::ceil(r->bin_height), columns = std::ceil(r->bin_width);
  if (!(rows <= kMaxBin && columns <= kMaxBin))
    return error(Code::kInvalidArgument, "region %lld is too large to choose its samples by size",
                 static_cast<long long>(number));
  r->rows = rows > 0 ? static_cast<int64_t>(rows) : 0;
  r->columns = columns > 0 ? static_cast<int64_t>(columns) : 0;
  return {};
}

// Rounds a region's edge to whole pixels, limited to values that an image can reach.
template <class R>
int64_t pixel(R v) {
  constexpr R kFar = static_cast<R>(int64_t{1} << 40);
  v = std::round(v);
  return !(v > -kFar) ? -static_cast<int64_t>(kFar) : static_cast<int64_t>(v < kFar ? v : kFar);
}

// A region in whole pixels, which may be outside of the image.
struct PixelRegion {
  int64_t top, left, height, width;
};

// roi: image, left, top, right, bottom.
template <class R, class T>
PixelRegion pixel_region(const T* roi, R scale) {
  const int64_t left = pixel(load(roi[1]) * scale), top = pixel(load(roi[2]) * scale),
                right = pixel(load(roi[3]) * scale), bottom = pixel(load(roi[4]) * scale);
  return {top, left, bottom - top + 1 > 1 ? bottom - top + 1 : 1,
          right - left + 1 > 1 ? right - left + 1 : 1};
}

// Computes the pixels of bin i of `bins` in an edge of `length` from `start`, clipped to the image.
template <class R>
void bin_range(int64_t i, int64_t bins, int64_t start, int64_t length, int64_t extent,
               int64_t* from, int64_t* to) {
  const R step = static_cast<R>(length) / static_cast<R>(bins);
  const auto cut = [&](R v) {
    const int64_t at = static_cast<int64_t>(v) + start;
    return at < 0 ? 0 : at > extent ? extent : at;
  };
  *from = cut(std::floor(static_cast<R>(i) * step));
  *to = cut(std::ceil(static_cast<R>(i + 1) * step));
}

}  // namespace wick::reference
