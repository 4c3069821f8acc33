// Sizes as doubles, for estimates: sizes in a hostile file would overflow integers.
#pragma once

#include <cmath>

#include "runtime/core/tensor_view.h"

namespace wick::counts {

inline double elements(const Shape& s) {
  double n = 1;
  for (int64_t d : s) n *= static_cast<double>(d);
  return n;
}
// Returns the i-th dimension, counted from the end where negative; 1 where there is none.
inline double dim(const Shape& s, int i) {
  if (i < 0) i += s.rank();
  return i < 0 || i >= s.rank() ? 1 : static_cast<double>(s[i]);
}
inline double least(double a, double b) { return a < b ? a : b; }
inline double most(double a, double b) { return a > b ? a : b; }
inline double log2_of(double n) { return std::log2(most(n, 2)); }

}  // namespace wick::counts
