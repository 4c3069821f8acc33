// Small integer arithmetic that many files need.
#pragma once

#include <cstddef>
#include <cstdint>

#include "runtime/core/byte_count.h"

namespace wick {

// Both need a >= 0 and b > 0.
constexpr int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }
constexpr int64_t round_up(int64_t a, int64_t b) { return ceil_div(a, b) * b; }
// Rounds bytes up to a multiple of 64: the offset of the next piece of a scratch buffer.
constexpr size_t rounded(uint64_t bytes) { return byte_count((bytes + 63) / 64 * 64); }
// Normalises an axis of a tensor of that rank; a negative axis counts from the end.
constexpr int axis_of(int64_t axis, int rank) {
  return static_cast<int>(axis < 0 ? axis + rank : axis);
}

}  // namespace wick
