// Bilinear resizing with antialiasing, by PIL's triangle filter, whose width grows with the scale.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "trainer/tensor/tensor.h"

namespace wick::data {

// Output i is the sum of weights[i] times inputs first[i], first[i] + 1 ...; each list of weights
// sums to 1.
struct ResampleWeights {
  std::vector<int64_t> first;
  std::vector<std::vector<double>> weights;
};
ResampleWeights resample_weights(int64_t in, int64_t out);

// Returns the same as a matrix, float32 [out, in].
Tensor resample_matrix(int64_t in, int64_t out);

// Resizes uint8 [..., H, W] with PIL's results bit for bit (22-bit weights, bytes between the two
// passes).
Tensor resize_bytes(const Tensor& image, int64_t height, int64_t width);
// Resizes float32 [..., H, W] to [..., h, w] by two matrix products, which an exported model
// repeats.
Tensor resize_floats(const Arg& image, const Tensor& rows, const Tensor& columns);

}  // namespace wick::data
