// How layers start; not public.
#pragma once

#include <cmath>
#include <string>

#include "trainer/tensor/philox.h"

namespace wick::nn {

// PyTorch's default for weights and biases alike: kaiming uniform with a = sqrt(5) is
// U(-1/sqrt(fan_in), +).
inline Tensor init_uniform(const Shape& shape, int64_t fan_in) {
  const double bound = fan_in > 0 ? 1 / std::sqrt(static_cast<double>(fan_in)) : 0;
  return uniform(shape, -bound, bound);
}

// What a constructor throws: it knows no line of the caller's.
[[noreturn]] inline void refuse(const char* layer, const std::string& text) {
  throw Error("[" + std::string(layer) + "] " + text);
}

// A layer's size that must be at least `least`.
inline void need_size(const char* layer, const char* what, int64_t size, int64_t least = 1) {
  if (size >= least) return;
  throw Error(std::string("[") + layer + "] " + what + " must be >= " + std::to_string(least) +
              ", got " + std::to_string(size));
}

}  // namespace wick::nn
