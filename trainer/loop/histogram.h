// Summarizes a tensor's values in a few numbers, for the run report.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "trainer/tensor/tensor.h"

namespace wick::loop {

struct Histogram {
  static constexpr int kBins = 32;
  std::string name;
  int64_t elements = 0, bad = 0;               // bad: NaN or infinite, not in any bin
  double min = 0, max = 0, mean = 0, std = 0;  // of the finite ones
  double zeros = 0;                            // fraction
  std::array<int64_t, kBins> counts{};         // equal widths from min to max
};
// Reads every element, with any strides and numeric dtype.
Histogram histogram_of(const std::string& name, const Tensor& t);

}  // namespace wick::loop
