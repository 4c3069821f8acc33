// Pooling of regions of interest: RoiAlign, MaxRoiPool.
#include "runtime/kernels/elementwise.h"
#include "runtime/kernels/reference/indices.h"
#include "runtime/kernels/reference/real.h"

namespace wick {
namespace {

using namespace reference;  // NOLINT: shared by this folder

// The limit of samples per bin when they depend on the region's size; it exceeds those of a whole
// image.
constexpr int64_t kMaxBin = 1 << 14;

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

// One region: the start of its first bin, the size of a bin and its number of samples.
template <class R>
struct Region {
  R top, left, bin_height, bin_width;
  int64_t rows, columns;
};

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

// Accumulates a bin's samples, one after the other.
template <class R, class T>
struct Pooled {
  const T* source;
  bool largest, first = true;
  R result = 0;

  void add(const Corner<R>& k) {
    R best = k.weight[0] * load(source[k.at[0]]);
    if (!largest) result = std::fma(k.weight[0], load(source[k.at[0]]), result);
    for (int q = 1; q < 4; ++q) {
      const R v = load(source[k.at[q]]);
      if (!largest) result = std::fma(k.weight[q], v, result);
      best = k.weight[q] * v > best ? k.weight[q] * v : best;
    }
    if (largest) result = first || best > result ? best : result;
    first = false;
  }
  // Adds one or more samples outside the image: each is 0 times the first pixel (NaN where that is
  // infinite), and a second one changes no bit of the result.
  void add_outside() { add(Corner<R>{}); }
};

template <class T>
Status run_roi_align(const KernelCtx& ctx, Span<const TensorView> in, Span<TensorView> out,
                     const void* attrs) {
  using R = Real<T>;
  const auto& a = *static_cast<const RoiAlignAttrs*>(attrs);
  const Shape &x = in[0].shape, &y = out[0].shape;
  const int64_t height = x[2], width = x[3], plane = height * width;
  for (int64_t n = 0; n < y[0]; ++n) {
    const int64_t image = int_at(in[2], n);
    if (image < 0 || image >= x[0])
      return error(Code::kInvalidArgument, "batch index %lld is out of bounds for %lld images",
                   static_cast<long long>(image), static_cast<long long>(x[0]));
    Region<R> r;
    WICK_TRY((region<R>(a, in[1].as<T>() + 4 * n, n, &r)));
  }
  if (out[0].numel() == 0) return {};
  if (plane == 0) return Status(Code::kShapeMismatch, "the images are empty");
  const int64_t bins = y[2] * y[3];
  parallel_items(ctx.pool, y[0] * bins, y[1] * 16, [&](int64_t from, int64_t to) {
    Poll poll;
    for (int64_t b = from; b < to; ++b) {
      const int64_t n = b / bins, row = b % bins / y[3], column = b % y[3];
      Region<R> r = {};
      static_cast<void>(region<R>(a, in[1].as<T>() + 4 * n, n, &r));
      const R count = static_cast<R>(r.rows * r.columns > 1 ? r.rows * r.columns : 1);
      const Samples<R> rows{r.top + static_cast<R>(row) * r.bin_height, r.bin_height, r.rows};
      const Samples<R> columns{r.left + static_cast<R>(column) * r.bin_width, r.bin_width,
                               r.columns};
      int64_t i0, i1, j0, j1;
      rows.inside(height, &i0, &i1);
      columns.inside(width, &j0, &j1);
      for (int64_t c = 0; c < y[1]; ++c) {
        Pooled<R, T> bin{in[0].as<T>() + (int_at(in[2], n) * y[1] + c) * plane, a.max != 0};
        if (r.rows > 0 && r.columns > 0) {
          if (i0 > 0) bin.add_outside();
          for (int64_t i = i0; i < i1; ++i) {
            if (j0 > 0) bin.add_outside();
            in_pieces(poll, j1 - j0, [&](int64_t begin, int64_t end) {
              for (int64_t j = j0 + begin; j < j0 + end; ++j)
                bin.add(corner(rows.at(i), columns.at(j), height, width));
            });
            if (poll()) return;
            if (j1 < r.columns) bin.add_outside();
          }
          if (i1 < r.rows) bin.add_outside();
        }
        out[0].as<T>()[(n * y[1] + c) * bins + b % bins] =
            static_cast<T>(a.max != 0 ? bin.result : bin.result / count);
      }
    }
  });
  return {};
}

// Rounds a region's edge to whole pixels, limited to values that an image can reach.
template <class R>
int64_t pixel(R v) {
  constexpr R kFar = static_cast<R>(int64_t{1} << 40);
  v = std::round(v);
  return !(v > -kFar) ? -static_cast<int64_t>(kFar) : static_cast<int64_t>(v < kFar ? v : kFar);
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

template <class T>
Status run_max_roi_pool(const KernelCtx& ctx, Span<const TensorView> in, Span<TensorView> out,
                        const void* attrs) {
  using R = Real<T>;
  const auto& a = *static_cast<const MaxRoiPoolAttrs*>(attrs);
  const Shape &x = in[0].shape, &y = out[0].shape;
  const R scale = static_cast<R>(a.spatial_scale);
  for (int64_t n = 0; n < y[0]; ++n) {
    const R image = load(in[1].as<T>()[5 * n]);
    if (!(image >= 0 && image < static_cast<R>(x[0])))
      return error(Code::kInvalidArgument, "region %lld is of image %g, there are %lld",
                   static_cast<long long>(n), static_cast<double>(image),
                   static_cast<long long>(x[0]));
  }
  if (out[0].numel() == 0) return {};
  const int64_t planes = y[0] * y[1], bins = y[2] * y[3];
  parallel_items(ctx.pool, planes, bins * 16, [&](int64_t begin, int64_t end) {
    Poll poll;
    for (int64_t p = begin; p < end; ++p) {
      const T* roi = in[1].as<T>() + p / y[1] * 5;
      const int64_t image = static_cast<int64_t>(load(roi[0]));
      const T* source = in[0].as<T>() + (image * y[1] + p % y[1]) * x[2] * x[3];
      const int64_t left = pixel(load(roi[1]) * scale), top = pixel(load(roi[2]) * scale),
                    right = pixel(load(roi[3]) * scale), bottom = pixel(load(roi[4]) * scale);
      const int64_t width = right - left + 1 > 1 ? right - left + 1 : 1,
                    height = bottom - top + 1 > 1 ? bottom - top + 1 : 1;
      for (int64_t b = 0; b < bins; ++b) {
        int64_t r0, r1, c0, c1;
        bin_range<R>(b / y[3], y[2], top, height, x[2], &r0, &r1);
        bin_range<R>(b % y[3], y[3], left, width, x[3], &c0, &c1);
        T best = T(0.0f);  // for a bin without pixels
        bool first = true;
        for (int64_t r = r0; r < r1 && c0 < c1; ++r) {
          if (poll(c1 - c0)) return;
          for (int64_t c = c0; c < c1; ++c) {
            const T v = source[r * x[3] + c];
            if (first || load(v) > load(best)) best = v;
            first = false;
          }
        }
        out[0].as<T>()[p * bins + b] = best;
      }
    }
  });
  return {};
}

}  // namespace

WICK_REF_ROWS(RoiAlign, WICK_FLOAT_ROWS("roi_align", kContiguous, match<T>, run_roi_align<T>));
WICK_REF_ROWS(MaxRoiPool,
              WICK_FLOAT_ROWS("max_roi_pool", kContiguous, match<T>, run_max_roi_pool<T>));
WICK_NO_CPU_ROWS(RoiAlign);
WICK_NO_CPU_ROWS(MaxRoiPool);

}  // namespace wick
