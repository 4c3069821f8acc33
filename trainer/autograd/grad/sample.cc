// GridSample: the positions to read are a tensor, and get a gradient as well as the image. Which
// pixels a point reads is constant around it; how much each of them counts is a formula of where
// the point lies between them.
#include "runtime/ops/attrs/image.h"
#include "trainer/autograd/grad/common.h"
#include "trainer/autograd/grad/neighbours.h"

namespace wick {
namespace {

// The kernel clamps positions this many pixels beyond a length before the image, or beyond two
// lengths. What is clamped passes no gradient, NaN and infinities among it.
constexpr double kBeyond = 4;

// One dim of the image, as the kernel sees it.
struct Dimension {
  double length;
  ResizeMode mode;
  GridPadding padding;
  bool align;

  double low() const { return align ? 0.0 : -0.5; }
  double high() const { return length - (align ? 1.0 : 0.5); }
  bool nearest() const { return mode == ResizeMode::kNearest; }
  bool cubic() const { return mode == ResizeMode::kCubic; }

  // Maps the numbers of a grid to pixels.
  Tensor pixels(const Tensor& n) const {
    return align ? (n + 1) * 0.5 * (length - 1) : ((n + 1) * length - 1) * 0.5;
  }
  // The number of pixels that one number of the grid spans.
  double scale() const { return (align ? length - 1 : length) * 0.5; }
  // NaN counts as 0.
  Tensor clamped(const Tensor& p) const { return where(ge(p, 0), minimum(p, length - 1), 0); }
  // Mirrors p at both ends; *slope becomes 1 or -1.
  Tensor reflected(const Tensor& p, Tensor* slope) const {
    const double span = high() - low();
    const Tensor one = full({}, 1, p.dtype());
    if (span <= 0) {
      *slope = zeros_like(p);
      return full_like(p, low());
    }
    const Tensor below = lt(p, low());
    const Tensor past = fmod(where(below, low() - p, p - low()), 2 * span);
    const Tensor back = gt(past, span);
    *slope = where(logical_xor(below, back), -1, one);
    return where(back, 2 * span - past, past) + low();
  }
};

// Where the points lie along a dim, without history: `base` is a whole number, ratio lies from 0 to
// 1, and slope is the derivative of the position for the grid.
struct Place {
  Tensor base, ratio, slope;
};

Place place_of(const Tensor& n, const Dimension& d) {
  Tensor p = d.pixels(n);
  Tensor slope = full_like(p, d.scale());
  if (d.nearest()) p = round(p);
  const Tensor outside = logical_not(logical_and(ge(p, d.low()), le(p, d.high())));
  // each of the cubic's neighbours is clamped by itself
  if (d.padding == GridPadding::kBorder && !d.cubic()) p = where(outside, d.clamped(p), p);
  if (d.padding == GridPadding::kReflection) {
    Tensor turned;
    const Tensor inner = d.reflected(p, &turned);
    slope = where(outside, slope * turned, slope);
    p = where(outside, inner, p);
  }
  // A point on a pixel at the edge does not move beyond it, as in PyTorch: with align_corners the
  // outermost points of an identity, for instance.
  if (d.padding != GridPadding::kZeros && !d.cubic()) {
    slope = where(logical_or(le(p, 0), ge(p, d.length - 1)), 0, slope);
  }
  const double first = -d.length - kBeyond, last = 2 * d.length + kBeyond;
  const Tensor above = gt(p, first), below = lt(p, last);
  slope = where(logical_and(above, below), slope, 0);
  p = where(above, where(below, p, last), first);
  const Tensor base = floor(p);
  return {base, p - base, slope};
}

// Keys' kernel with a = -0.75 at distances t + 1, t, 1 - t, 2 - t.
std::vector<Tensor> cubic_weights(const Tensor& t) {
  constexpr double kA = -0.75;
  const auto near = [](const Tensor& r) { return ((kA + 2) * r - (kA + 3)) * r * r + 1; };
  const auto far = [](const Tensor& r) { return ((kA * r - 5 * kA) * r + 8 * kA) * r - 4 * kA; };
  return {far(t + 1), near(t), near(1 - t), far(2 - t)};
}

// n: the grid's numbers for this dim, float64 [points].
Neighbours neighbours(const Tensor& n, const Dimension& d, DType dtype) {
  std::vector<Tensor> index, there, weight;
  const int taps = d.nearest() ? 1 : d.cubic() ? 4 : 2;
  Place place;
  Tensor finite;
  {
    NoGrad guard;
    const Tensor at = n.detach();
    finite = isfinite(at);
    place = place_of(at, d);
    for (int i = 0; i < taps; ++i) {
      Tensor p = place.base + (i - (d.cubic() ? 1 : 0));
      const Tensor inside = logical_and(ge(p, 0), le(p, d.length - 1));
      there.push_back(inside);
      Tensor turned;
      if (d.padding == GridPadding::kReflection)
        p = where(inside, p, trunc(d.reflected(p, &turned)));
      index.push_back(d.clamped(p).to(DType::kI64));
    }
  }
  if (d.nearest()) {
    weight = {ones_like(place.base)};
  } else {
    const Tensor moving = where(finite, n, 0);
    const Tensor t = place.ratio + place.slope * (moving - moving.detach());
    weight = d.cubic() ? cubic_weights(t) : std::vector<Tensor>{1 - t, t};
  }
  for (size_t i = 0; i < weight.size() && d.padding == GridPadding::kZeros; ++i)
    weight[i] = where(there[i], weight[i], 0);
  return {stack(index, 1), stack(weight, 1).to(dtype)};
}

Tensor sampled(const Tensor& x, const Tensor& grid, const GridSampleAttrs& a, const Shape& out) {
  const DType real = x.dtype() == DType::kF64 ? DType::kF64 : DType::kF32;
  const int k = x.rank() - 2;
  const Tensor at = grid.to(DType::kF64).reshape({numel(grid.raw_shape()) / k, k});
  std::vector<Neighbours> along;
  for (int d = 0; d < k; ++d) {  // the grid's last coordinate belongs to the first dim
    const Dimension dim{static_cast<double>(x.raw_shape()[2 + d]), static_cast<ResizeMode>(a.mode),
                        static_cast<GridPadding>(a.padding), a.align_corners != 0};
    along.push_back(neighbours(at.select(1, k - 1 - d), dim, real));
  }
  return read_between(x.to(real), along).reshape(out).to(x.dtype());
}

}  // namespace

WICK_GRAD(GridSample, 3, 0, 0, [](GradCtx& c) {
  const auto& a = c.attrs<GridSampleAttrs>();
  const Shape out = c.out_shape(0);
  if (numel(c.in_shape(0)) == 0 || numel(out) == 0) {  // nothing was read
    c.set(0, zeros_of(c, 0));
    const Tensor g = sum(c.g(), {1}).to(c.in_dtype(1));
    return c.set(1, g.unsqueeze(-1) * zeros_of(c, 1));
  }
  const bool nearest = a.mode == static_cast<int64_t>(ResizeMode::kNearest);
  if (!nearest || c.needs(0)) {
    grad_through(c, [&](const std::vector<Tensor>& in) {
      return std::vector<Tensor>{sampled(in[0], in[1], a, out)};
    });
  }
  if (nearest) c.set(1, zeros_of(c, 1));  // around a point the pixel is one and the same
});

}  // namespace wick
