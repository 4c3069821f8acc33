// Which pixels a point of GridSample reads along a dim, and their weights, in double.
#pragma once

#include <cmath>

#include "runtime/kernels/reference/blend.h"
#include "runtime/ops/attrs/image.h"

namespace wick::reference {

constexpr int kMostTaps = 4;

// The neighbours along one dim; a weight of 0 where there is none.
struct Reach {
  int count = 1;
  double weight[kMostTaps] = {1};
  int64_t at[kMostTaps] = {};
};

inline double reflect(double v, double lo, double hi) {
  const double span = hi - lo;
  if (span <= 0) return lo;
  double past = std::fmod(v < lo ? lo - v : v - lo, 2 * span);
  if (past > span) past = 2 * span - past;
  return lo + past;
}

struct Sampler {
  ResizeMode mode;
  GridPadding padding;
  bool align;

  explicit Sampler(const GridSampleAttrs& a)
      : mode(static_cast<ResizeMode>(a.mode)),
        padding(static_cast<GridPadding>(a.padding)),
        align(a.align_corners != 0) {}
  double low() const { return align ? 0.0 : -0.5; }
  double high(int64_t extent) const { return static_cast<double>(extent) - (align ? 1.0 : 0.5); }

  // Sets neighbour i to the pixel at `p`, an integer that may be outside.
  void place(Reach* r, int i, double weight, double p, int64_t extent) const {
    const auto last = static_cast<double>(extent - 1);
    if (padding == GridPadding::kZeros && !(p >= 0 && p <= last)) weight = 0;
    if (padding == GridPadding::kReflection && (p < 0 || p > last))
      p = std::trunc(reflect(p, low(), high(extent)));
    p = !(p >= 0) ? 0 : p > last ? last : p;
    r->weight[i] = weight;
    r->at[i] = static_cast<int64_t>(p);
  }

  // Needs extent >= 1.
  Reach reach(double n, int64_t extent) const {
    const auto length = static_cast<double>(extent);
    double x = align ? (n + 1) / 2 * (length - 1) : ((n + 1) * length - 1) / 2;
    if (mode == ResizeMode::kNearest) x = std::nearbyint(x);
    if (!(x >= low() && x <= high(extent))) {
      // each of the cubic's neighbours is clamped by itself
      if (padding == GridPadding::kBorder && mode != ResizeMode::kCubic)
        x = !(x >= 0) ? 0 : x > length - 1 ? length - 1 : x;
      if (padding == GridPadding::kReflection) x = reflect(x, low(), high(extent));
    }
    // infinities and NaN become far outside, which gives the same neighbours
    x = !(x > -length - 4) ? -length - 4 : x < 2 * length + 4 ? x : 2 * length + 4;
    Reach r;
    if (mode == ResizeMode::kNearest) {
      place(&r, 0, 1, x, extent);
      return r;
    }
    const double base = std::floor(x), ratio = x - base;
    double w[kMostTaps] = {1 - ratio, ratio};
    r.count = mode == ResizeMode::kLinear ? 2 : 4;
    if (r.count == 4) cubic_weights(ratio, -0.75, w);
    for (int i = 0; i < r.count; ++i) place(&r, i, w[i], base + i - (r.count == 4 ? 1 : 0), extent);
    return r;
  }
};

}  // namespace wick::reference
