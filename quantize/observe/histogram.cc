#include "quantize/observe/histogram.h"

#include <algorithm>
#include <cmath>

namespace wick::quantize {
namespace {

// This is exact: a float's product with a power of two is a double as long as exponents fit, and
// these do.
int64_t bin_of(float x, double per_width) {
  return static_cast<int64_t>(std::floor(static_cast<double>(x) * per_width));
}

}  // namespace

double Histogram::width() const { return std::ldexp(1.0, exponent_); }

void Histogram::widen(float lo, float hi) {
  const bool first = counts_.empty();
  if (!first && lo >= lo_ && hi <= hi_) return;
  lo_ = std::min(lo_, lo), hi_ = std::max(hi_, hi);
  // The smallest width that fits; with 0 in the range it can only grow with it.
  const int least = std::ilogb(std::max(-lo_, hi_)) - 13;
  const int old = exponent_;
  exponent_ = first ? least : std::max(old, least);
  while (bin_of(hi_, std::ldexp(1.0, -exponent_)) - bin_of(lo_, std::ldexp(1.0, -exponent_)) >=
         kMaxBins) {
    ++exponent_;
  }
  const int64_t from = bin_of(lo_, std::ldexp(1.0, -exponent_)),
                to = bin_of(hi_, std::ldexp(1.0, -exponent_));
  std::vector<int64_t> merged(static_cast<size_t>(to - from + 1), 0);
  for (size_t i = 0; i < counts_.size(); ++i) {
    // The shift rounds down. Shifting by 63 shifts everything out; by 64 is undefined.
    const int64_t at = (first_ + static_cast<int64_t>(i)) >> std::min(exponent_ - old, 63);
    merged[static_cast<size_t>(at - from)] += counts_[i];
  }
  counts_ = std::move(merged);
  first_ = from;
}

void Histogram::add(const float* x, int64_t n, float lo, float hi) {
  if (lo == 0 && hi == 0) {
    zeros_ += n;
    return;
  }
  widen(lo, hi);
  const double per_width = std::ldexp(1.0, -exponent_);
  for (int64_t i = 0; i < n; ++i) {
    if (x[i] == 0) {
      ++zeros_;
    } else {
      ++counts_[static_cast<size_t>(bin_of(x[i], per_width) - first_)];
    }
  }
}

std::vector<int64_t> Histogram::magnitudes() const {
  const int64_t last = first_ + static_cast<int64_t>(counts_.size()) - 1;
  std::vector<int64_t> h(static_cast<size_t>(std::max({last, -first_ - 1, int64_t{-1}}) + 1), 0);
  for (size_t i = 0; i < counts_.size(); ++i) {
    const int64_t at = first_ + static_cast<int64_t>(i);
    h[static_cast<size_t>(at >= 0 ? at : -at - 1)] += counts_[i];
  }
  return h;
}

}  // namespace wick::quantize
