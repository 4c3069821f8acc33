// The type that holds every value of a dtype without loss: double, int64 or uint64. Where a loop
// for every pair of dtypes would be hundreds of kilobytes, one side is converted to it, a block at
// a time.
#pragma once

#include <bit>
#include <cmath>

#include "runtime/kernels/reference/rows.h"
#include "runtime/ops/attrs.h"

namespace wick::reference {

template <class T>
using Widest =
    std::conditional_t<std::is_floating_point_v<T> || kIs16<T>, double,
                       std::conditional_t<std::is_same_v<T, uint64_t>, uint64_t, int64_t>>;

// Rounds to odd: another rounding to a shorter format then gives the correct single rounding.
inline float to_float_odd(double d) {
  float f = static_cast<float>(d);
  double back = static_cast<double>(f);
  if (back == d || std::isnan(d) || std::isinf(f)) return f;
  uint32_t u = std::bit_cast<uint32_t>(f);
  if (std::fabs(back) > std::fabs(d)) --u;
  return std::bit_cast<float>(u | 1);
}

constexpr int64_t kWidestBlock = WICK_SMALL ? 64 : 512;
struct WidestBlock {
  alignas(8) char bytes[kWidestBlock * 8];
  template <class W>
  const W* as() const {
    return reinterpret_cast<const W*>(bytes);
  }
  template <class W>
  W* as() {
    return reinterpret_cast<W*>(bytes);
  }
};

struct Widen {
  // Reads n <= kWidestBlock elements with stride `step` from element `first` on. Null for a dtype
  // that is neither a number nor a bool.
  void (*loop)(const void* from, int64_t first, int64_t step, int64_t n, WidestBlock* to) = nullptr;
  enum class Kind { kReal, kSigned, kUnsigned } kind = Kind::kReal;
};
Widen find_widen(DType from);        // cast.cc; the small types as well
Widen find_widen_small(DType from);  // small.cc

// Reads n elements with stride `step` and writes them contiguously.
using CastLoop = void (*)(const void* from, int64_t step, int64_t n, void* to);
// Converts from the widest type; null for a dtype that is small, or neither a number nor a bool.
CastLoop find_narrow(Widen::Kind kind, DType to);  // cast.cc

// Writes n <= kWidestBlock elements from element `first` on, in ascending order: packed types clear
// the rest of their last byte. Null for a dtype that is not small.
using NarrowSmall = void (*)(const WidestBlock& from, Widen::Kind kind, int64_t n, void* to,
                             int64_t first, const CastAttrs& attrs);
NarrowSmall find_narrow_small(DType to);  // small.cc
// Converts float32 with stride `step` to 8-bit floats without going through double; null for
// others.
using NarrowFloats = void (*)(const float* from, int64_t step, int64_t n, uint8_t* to,
                              const CastAttrs& attrs);
NarrowFloats find_narrow_floats(DType from, DType to);  // small.cc

}  // namespace wick::reference
