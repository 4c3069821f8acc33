#pragma once

#include <cstdint>

namespace wick::optim {

// Computes a power by squaring: the last bit of std::pow depends on the C library, and training
// must not.
inline double integer_power(double base, int64_t n) {
  double result = 1;
  for (; n > 0; n >>= 1) {
    if (n & 1) result *= base;
    base *= base;
  }
  return result;
}

}  // namespace wick::optim
