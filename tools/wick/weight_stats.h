// Statistics of a weight.
#pragma once

#include <cstdint>
#include <vector>

#include "runtime/core/tensor_view.h"

namespace wick::tool {

struct WeightStats {
  bool known = false;  // false: no real numbers (strings, complex), or none at all
  double min = 0, max = 0, mean = 0, std = 0;  // of the finite numbers
  int64_t zeros = 0, nans = 0, infinities = 0;
  std::vector<int64_t> histogram;  // of the finite numbers, from min to max in equal bins
};

WeightStats weight_stats(const TensorView& weight);

}  // namespace wick::tool
