// Shared by the resampling kernels: the type in which elements are weighted, cubic weights, and the
// conversion back.
#pragma once

#include <cmath>
#include <limits>
#include <type_traits>

#include "runtime/kernels/reference/rows.h"

namespace wick::reference {

// float for float and the 16-bit floats, else double, which holds every 32-bit integer.
template <class T>
using Blend = std::conditional_t<std::is_same_v<T, float> || kIs16<T>, float, double>;

template <class T>
Blend<T> blend_of(const T& v) {
  return static_cast<Blend<T>>(v);
}

// Converts back. Integers are truncated towards 0 and clamped to their range; NaN gives 0. Values
// within the weights' rounding error of an integer become that integer, so that a uniform image
// stays uniform.
template <class T>
T from_blend(Blend<T> v) {
  if constexpr (std::is_integral_v<T>) {
    if (v != v) return 0;
    constexpr double kLow = static_cast<double>(std::numeric_limits<T>::min()),
                     kHigh = static_cast<double>(std::numeric_limits<T>::max());
    if (v <= kLow) return std::numeric_limits<T>::min();
    if (v >= kHigh) return std::numeric_limits<T>::max();
    const double whole = std::nearbyint(v);
    if (std::fabs(v - whole) <= 1e-9 + 1e-12 * std::fabs(v)) v = whole;
  }
  return static_cast<T>(v);
}

// Keys' kernel at distances r + 1, r, 1 - r, 2 - r; 0 <= r <= 1.
inline void cubic_weights(double r, double a, double* w) {
  const double u = 1 - r;
  w[0] = ((a * (r + 1) - 5 * a) * (r + 1) + 8 * a) * (r + 1) - 4 * a;
  w[1] = ((a + 2) * r - (a + 3)) * r * r + 1;
  w[2] = ((a + 2) * u - (a + 3)) * u * u + 1;
  w[3] = ((a * (u + 1) - 5 * a) * (u + 1) + 8 * a) * (u + 1) - 4 * a;
}

// Returns an element of a contiguous float tensor of any dtype.
inline double real_at(const TensorView& v, int64_t i) {
  switch (v.dtype) {
    case DType::kF64: return v.as<double>()[i];
    case DType::kF16: return static_cast<double>(static_cast<float>(v.as<Half>()[i]));
    case DType::kBF16: return static_cast<double>(static_cast<float>(v.as<BFloat16>()[i]));
    default: return static_cast<double>(v.as<float>()[i]);
  }
}

}  // namespace wick::reference
