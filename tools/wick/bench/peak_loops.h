// Loops that do nothing but multiply and add, and nothing but read: peaks.cc times them.
#pragma once

#include <cstdint>

namespace wick::tool {

// Compiled for each SIMD target; these are of the target that the runtime's kernels use here.
struct PeakLoops {
  // Multiplies and adds float32 vectors in chains that do not wait for each other; returns their
  // sum, so that none is left out. A step has `flops_of_step` operations, two for a multiply-add.
  float (*multiply_add)(int64_t steps);
  double flops_of_step;
  // Reads `count` floats, a multiple of kReadAtOnce, and returns their sum.
  float (*read)(const float* x, int64_t count);
};
constexpr int64_t kReadAtOnce = 256;

PeakLoops peak_loops();

}  // namespace wick::tool
