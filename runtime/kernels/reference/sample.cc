// GridSample and AffineGrid: the positions to read are a tensor. Coordinates are double for every
// dtype, so that all dtypes select the same neighbours.
#include "runtime/kernels/elementwise/elementwise.h"
#include "runtime/kernels/reference/blend.h"
#include "runtime/kernels/reference/sampler.h"

namespace wick {
namespace {

using namespace reference;  // NOLINT: shared by this folder

template <class T>
Blend<T> weigh(const Reach* r, int left, const T* x, const int64_t* steps) {
  if (left == 0) return blend_of(*x);
  Blend<T> sum = 0;
  for (int i = 0; i < r->count; ++i) {
    if (r->weight[i] == 0) continue;  // an infinity there must not affect the sum
    sum = std::fma(static_cast<Blend<T>>(r->weight[i]),
                   weigh(r + 1, left - 1, x + r->at[i] * steps[0], steps + 1), sum);
  }
  return sum;
}

template <class T>
Status run_grid_sample(const KernelCtx& ctx, Span<const TensorView> in, Span<TensorView> out,
                       const void* attrs) {
  const auto& a = *static_cast<const GridSampleAttrs*>(attrs);
  const Sampler sampler(a);
  const Shape& x = in[0].shape;
  const int spatial = x.rank() - 2;
  if (out[0].numel() == 0) return {};
  const int64_t channels = x[1], points = out[0].numel() / (x[0] * channels);
  T* y = out[0].as<T>();
  if (in[0].numel() == 0) {  // no pixel to read
    Poll poll;
    for (int64_t i = 0, n = out[0].numel(); i < n && !poll(); ++i) y[i] = T(0);
    return {};
  }
  int64_t steps[3] = {}, plane = 1;
  for (int d = spatial - 1; d >= 0; --d) {
    steps[d] = plane;
    plane *= x[2 + d];
  }
  parallel_items(ctx.pool, x[0] * points, channels * 16, [&](int64_t from, int64_t to) {
    Poll poll;
    for (int64_t p = from; p < to; ++p) {
      const int64_t image = p / points;
      Reach r[3];
      for (int d = 0; d < spatial; ++d)  // the grid's last coordinate belongs to the first dim
        r[d] = sampler.reach(real_at(in[1], p * spatial + spatial - 1 - d), x[2 + d]);
      for (int64_t c = 0; c < channels; ++c) {
        if (poll(64)) return;
        const int64_t which = image * channels + c;
        const T* source = in[0].as<T>() + which * plane;
        T& result = y[which * points + p % points];
        if (sampler.mode == ResizeMode::kNearest) {
          bool inside = true;
          for (int d = 0; d < spatial; ++d) {
            inside = inside && r[d].weight[0] != 0;
            source += r[d].at[0] * steps[d];
          }
          result = inside ? *source : T(0);
        } else {
          result = from_blend<T>(weigh(r, spatial, source, steps));
        }
      }
    }
  });
  return {};
}

// Maps point i of `extent` to -1 .. 1: at the points' centers, or (align) from the first to the
// last.
double grid_point(int64_t i, int64_t extent, bool align) {
  const auto n = static_cast<double>(extent), at = static_cast<double>(i);
  if (align) return extent == 1 ? 0.0 : 2 * at / (n - 1) - 1;
  return (2 * at + 1) / n - 1;
}

template <class T>
Status run_affine_grid(const KernelCtx& ctx, Span<const TensorView> in, Span<TensorView> out,
                       const void* attrs) {
  const bool align = static_cast<const AffineGridAttrs*>(attrs)->align_corners != 0;
  const Shape& y = out[0].shape;
  const int k = y.rank() - 2;
  const int64_t count = out[0].numel() / k;
  if (count == 0) return {};
  const int64_t points = count / y[0];
  parallel_items(ctx.pool, count, 16, [&](int64_t from, int64_t to) {
    for (int64_t p = from; p < to; ++p) {
      Blend<T> at[3] = {};  // x, y, z: from the last dim on
      int64_t rest = p % points;
      for (int d = k; d >= 1; --d) {
        at[k - d] = static_cast<Blend<T>>(grid_point(rest % y[d], y[d], align));
        rest /= y[d];
      }
      const T* theta = in[0].as<T>() + p / points * k * (k + 1);
      for (int row = 0; row < k; ++row, theta += k + 1) {
        Blend<T> sum = 0;
        for (int i = 0; i < k; ++i) sum = std::fma(blend_of(theta[i]), at[i], sum);
        out[0].as<T>()[p * k + row] = static_cast<T>(sum + blend_of(theta[k]));
      }
    }
  });
  return {};
}

}  // namespace

WICK_REF_ROWS(GridSample,
              WICK_NUMBER_ROWS("grid_sample", kContiguous, match<T>, run_grid_sample<T>));
WICK_REF_ROWS(AffineGrid,
              WICK_FLOAT_ROWS("affine_grid", kContiguous, match<T>, run_affine_grid<T>));
WICK_NO_CPU_ROWS(AffineGrid);

}  // namespace wick
