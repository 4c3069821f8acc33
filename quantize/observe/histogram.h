// Histogram counts reals in bins whose width is a power of two, aligned at 0. When values fall
// outside, neighbouring bins are merged in pairs, which is exact: the result is that of one pass
// over all data with the final width, in whatever order the data came.
#pragma once

#include <cstdint>
#include <vector>

namespace wick::quantize {

class Histogram {
 public:
  static constexpr int64_t kMaxBins = 4096;

  // Adds finite values within [lo, hi].
  void add(const float* x, int64_t n, float lo, float hi);

  // Bin i counts the values in [(first() + i) width(), (first() + i + 1) width()); 0 itself is
  // counted apart.
  const std::vector<int64_t>& counts() const { return counts_; }
  int64_t first() const { return first_; }
  double width() const;
  int64_t zeros() const { return zeros_; }

  // Bin i counts the values with i width() <= |x| < (i + 1) width(); a negative value on an edge
  // counts one bin lower. 0 itself is counted apart.
  std::vector<int64_t> magnitudes() const;

 private:
  void widen(float lo, float hi);

  std::vector<int64_t> counts_;
  int64_t first_ = 0, zeros_ = 0;
  int exponent_ = 0;  // of the width
  float lo_ = 0, hi_ = 0;
};

}  // namespace wick::quantize
