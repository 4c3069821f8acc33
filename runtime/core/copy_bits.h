#pragma once

#include <cstddef>

#include "runtime/core/stop.h"

namespace wick {

// Copies `bits` bits: byte by byte where both positions are whole bytes, else bit by bit. The other
// bits of the bytes written keep their values.
inline void copy_bits(const void* from_data, size_t from_bit, void* to_data, size_t to_bit,
                      size_t bits) {
  const auto* from = static_cast<const unsigned char*>(from_data);
  auto* to = static_cast<unsigned char*>(to_data);
  if (from_bit % 8 == 0 && to_bit % 8 == 0) {
    if (bits >= 8) copy_bytes(to + to_bit / 8, from + from_bit / 8, bits / 8);
    from_bit += bits / 8 * 8, to_bit += bits / 8 * 8, bits %= 8;
  }
  for (size_t i = 0; i < bits; ++i) {
    const size_t f = from_bit + i, t = to_bit + i;
    const int bit = from[f / 8] >> (f % 8) & 1;
    to[t / 8] = static_cast<unsigned char>((to[t / 8] & ~(1 << (t % 8))) | bit << (t % 8));
  }
}

}  // namespace wick
