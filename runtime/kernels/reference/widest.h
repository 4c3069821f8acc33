// The type that holds every value of a dtype without loss: double, int64 or uint64. Where a loop
// for every pair of dtypes would be hundreds of kilobytes, one side goes through it, a block at a
// time.
#pragma once

#include "runtime/kernels/reference/rows.h"

namespace wick::reference {

template <class T>
using Widest =
    std::conditional_t<std::is_floating_point_v<T> || kIs16<T>, double,
                       std::conditional_t<std::is_same_v<T, uint64_t>, uint64_t, int64_t>>;

constexpr int64_t kWidestBlock = 512;
struct WidestBlock {
  alignas(8) char bytes[kWidestBlock * 8];
  template <class W>
  const W* as() const {
    return reinterpret_cast<const W*>(bytes);
  }
};

struct Widen {
  // Reads n <= kWidestBlock elements `step` apart. Null for a dtype that is no number and no bool.
  void (*loop)(const void* from, int64_t step, int64_t n, WidestBlock* to) = nullptr;
  enum class Kind { kReal, kSigned, kUnsigned } kind = Kind::kReal;
};
Widen find_widen(DType from);  // cast.cc

}  // namespace wick::reference
