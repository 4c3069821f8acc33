#pragma once

#include <cstdint>

namespace wick::optim {

// By squaring: std::pow's last bit is the C library's affair, training's bits are not.
inline double integer_power(double base, int64_t n) {
  double result = 1;
  for (; n > 0; n >>= 1) {
    if (n & 1) result *= base;
    base *= base;
  }
  return result;
}

}  // namespace wick::optim
