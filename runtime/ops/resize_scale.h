// Resize scales as fractions: 0.6 as float32 is a little more than 3/5, and 10 pixels by 0.7f would
// be 6.99. The rule computes sizes, and the kernels coordinates, with the fraction that the float
// stands for.
#pragma once

#include <cmath>
#include <cstdint>

namespace wick {

struct Ratio {
  int64_t p = 1, q = 1;  // p / q; q >= 1
  double value() const { return static_cast<double>(p) / static_cast<double>(q); }
};

constexpr int64_t kRatioParts = 1024;
constexpr double kMaxScale = 0x1p31;

// Needs 0 < scale <= kMaxScale. Returns the fraction with the smallest denominator (up to
// kRatioParts) that rounds to the same float32, else the float itself.
inline Ratio ratio_of(double scale) {
  for (int64_t q = 1; q <= kRatioParts; ++q) {
    const double p = std::floor(scale * static_cast<double>(q) + 0.5);
    if (p >= 1 && p < kMaxScale &&
        static_cast<float>(p / static_cast<double>(q)) == static_cast<float>(scale))
      return {static_cast<int64_t>(p), q};
  }
  int exponent = 0;
  const double part = std::frexp(scale, &exponent);  // part * 2^exponent, part in [0.5, 1)
  const int shift = 24 - exponent;                   // >= -7
  if (shift > 62) return {0, 1};                     // too small to matter for any size
  const auto digits = static_cast<int64_t>(std::floor(part * 0x1p24));
  return shift >= 0 ? Ratio{digits, int64_t{1} << shift} : Ratio{digits << -shift, 1};
}

// Returns the size that keeps the aspect ratio, rounded; `scale` is the kept ratio of sizes /
// extents.
inline int64_t kept_size(int64_t extent, const Ratio& scale) {
  return static_cast<int64_t>(std::floor(
      static_cast<double>(extent) * static_cast<double>(scale.p) / static_cast<double>(scale.q) +
      0.5));
}

// Keeps the smallest (`smaller`) or largest of the ratios so far.
inline void keep_ratio(Ratio* kept, const Ratio& r, bool smaller, bool first) {
  if (first || (smaller ? r.value() < kept->value() : r.value() > kept->value())) *kept = r;
}

}  // namespace wick
