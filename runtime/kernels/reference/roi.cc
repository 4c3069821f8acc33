// Pooling of regions of interest: RoiAlign, MaxRoiPool.
#include "runtime/kernels/reference/roi.h"
#include "runtime/kernels/elementwise/elementwise.h"
#include "runtime/kernels/reference/indices.h"

namespace wick {
namespace {

using namespace reference;  // NOLINT: shared by this folder

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
      const Samples<R> rows = r.in_row(row), columns = r.in_column(column);
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
      return error(
          Code::kInvalidArgument, "batch index %g of region %lld is out of bounds for %lld images",
          static_cast<double>(image), static_cast<long long>(n), static_cast<long long>(x[0]));
  }
  if (out[0].numel() == 0) return {};
  const int64_t planes = y[0] * y[1], bins = y[2] * y[3];
  parallel_items(ctx.pool, planes, bins * 16, [&](int64_t begin, int64_t end) {
    Poll poll;
    for (int64_t p = begin; p < end; ++p) {
      const T* roi = in[1].as<T>() + p / y[1] * 5;
      const int64_t image = static_cast<int64_t>(load(roi[0]));
      const T* source = in[0].as<T>() + (image * y[1] + p % y[1]) * x[2] * x[3];
      const PixelRegion region = pixel_region(roi, scale);
      for (int64_t b = 0; b < bins; ++b) {
        int64_t r0, r1, c0, c1;
        bin_range<R>(b / y[3], y[2], region.top, region.height, x[2], &r0, &r1);
        bin_range<R>(b % y[3], y[3], region.left, region.width, x[3], &c0, &c1);
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
