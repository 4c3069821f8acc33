// Rows that are standardized, and perhaps scaled and shifted: what LayerNormalization and
// GroupNormalization come to.
#pragma once

#include <cstdint>

namespace wick {

// y = (x - mean) / sqrt(var + epsilon) [* w] [+ b], each step rounded, mean and the biased variance
// as ReduceMean gives them.
struct NormRows {
  const float* x = nullptr;
  float* y = nullptr;  // may be x
  int64_t n = 0;       // elements of a row, at least one
  float epsilon = 0;
  bool centred = true;    // false: the mean is taken to be 0, as in RMS norm
  bool inverted = false;  // times 1 / root, rounded, instead of a division by the root
  const float *w = nullptr, *b = nullptr;  // null: none
  // `run` neighbouring elements share a number of w and of b. The numbers of `groups` rows lie one
  // after the other, then they repeat.
  int64_t run = 1, groups = 1;
};
// Computes rows [begin, end).
using NormRowsBody = void (*)(const NormRows& s, int64_t begin, int64_t end);

}  // namespace wick
