// How large sums of products of bytes can become. int32 holds them: within it they are exact,
// beyond it they wrap, so nothing is made whose sums may exceed it.
#pragma once

#include <algorithm>

#include "runtime/core/dtype.h"

namespace wick::ir {

inline constexpr int64_t kMostSum = 2147483647;

// WeightSums sums the weights of one output, minus their zero point.
struct WeightSums {
  int64_t above = 0, below = 0;  // of the positive ones; of the magnitudes of the others
  void add(int32_t w) { (w > 0 ? above : below) += w > 0 ? w : -w; }
};
// The range of a byte minus its zero point: -down .. up.
struct ByteReach {
  int64_t down = 0, up = 0;
  int64_t most() const { return std::max(down, up); }
};
inline ByteReach reach_of(DType dtype, int32_t zero) {
  const int32_t lo = dtype == DType::kI8 ? -128 : 0;
  return {zero - lo, lo + 255 - zero};
}
// Returns the largest magnitude of sum(w x) for any bytes x; every partial sum is within it.
inline int64_t largest_sum(const WeightSums& w, const ByteReach& x) {
  return std::max(w.above * x.up + w.below * x.down, w.above * x.down + w.below * x.up);
}

}  // namespace wick::ir
