// Default initialization of layers, and checks for their constructors; not public.
#pragma once

#include <cmath>
#include <string>

#include "trainer/tensor/philox.h"

namespace wick::nn {

// PyTorch's default for both weights and biases: kaiming uniform with a = sqrt(5), which is
// U(-1/sqrt(fan_in), 1/sqrt(fan_in)).
inline Tensor init_uniform(const Shape& shape, int64_t fan_in) {
  const double bound = fan_in > 0 ? 1 / std::sqrt(static_cast<double>(fan_in)) : 0;
  return uniform(shape, -bound, bound);
}

// Throws the Error of a constructor, which does not know the caller's line.
[[noreturn]] inline void refuse(const char* layer, const std::string& text) {
  throw Error("[" + std::string(layer) + "] " + text);
}

// Throws if a layer's size is less than `least`.
inline void need_size(const char* layer, const char* what, int64_t size, int64_t least = 1) {
  if (size >= least) return;
  throw Error(std::string("[") + layer + "] " + what + " must be >= " + std::to_string(least) +
              ", got " + std::to_string(size));
}

}  // namespace wick::nn
