// Reads and conversions that C++ leaves undefined for some values that files and callers may
// contain.
#pragma once

#include <limits>
#include <type_traits>

namespace wick::reference {

// Reads an element. A bool may be any byte, from a caller or by BitCast: all but 0 are true.
template <class T>
T read(const T* at) {
  if constexpr (std::is_same_v<T, bool>) {
    return *reinterpret_cast<const unsigned char*>(at) != 0;
  } else {
    return *at;
  }
}

// Converts a real to an integer: towards zero, clamped to the range, NaN is 0.
template <class To, class From>
To saturated(From v) {
  static_assert(std::is_floating_point_v<From> && std::is_integral_v<To>);
  using Limits = std::numeric_limits<To>;
  // max + 1 is a power of two, hence exact in every float type.
  constexpr From kTop = static_cast<From>((Limits::max() >> 1) + 1) * 2;
  if (!(v > static_cast<From>(Limits::lowest()))) return v == v ? Limits::lowest() : To(0);
  return v >= kTop ? Limits::max() : static_cast<To>(v);
}

}  // namespace wick::reference
