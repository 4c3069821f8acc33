// Bilinear resizing with antialiasing: PIL's triangle filter, which grows with the scale.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "trainer/tensor/tensor.h"

namespace wick::data {

// What output i is made of: weights[i] times inputs first[i], first[i] + 1 ...; their sum is 1.
struct ResampleWeights {
  std::vector<int64_t> first;
  std::vector<std::vector<double>> weights;
};
ResampleWeights resample_weights(int64_t in, int64_t out);

// The same as a matrix, float32 [out, in].
Tensor resample_matrix(int64_t in, int64_t out);

// uint8 [..., H, W]: PIL's numbers bit for bit (22-bit weights, bytes between the two passes).
Tensor resize_bytes(const Tensor& image, int64_t height, int64_t width);
// float32 [..., H, W] -> [..., h, w], two matrix products: what an exported model repeats.
Tensor resize_floats(const Arg& image, const Tensor& rows, const Tensor& columns);

}  // namespace wick::data
