// Converts a tensor to int8 and back.
#pragma once

#include "trainer/tensor/tensor.h"

namespace wick::quantize {

// A tensor of integers with one scale.
struct Int8Tensor {
  Tensor values;  // int8, of the shape of what it stands for: (values - zero_point) * scale
  float scale = 1;
  int32_t zero_point = 0;  // -128 to 127
};

// Quantizes x, which is float32 and not empty, asymmetrically with one scale for all of it: scale =
// (max - min) / 255 of the range widened to hold 0, zero_point = the integer nearest to where 0
// falls, clipped to int8 (quantize::params_of). 0 comes back exactly, every number within scale / 2
// of what it was (up to float32's rounding), also in a tensor of one number; a tensor of zeros has
// scale 1. Throws Error for NaN and infinity, and says where.
Int8Tensor quantize_int8(const Arg& x);
// Returns float32. Throws Error for values that are not int8, a scale that is not finite and > 0,
// or a zero point outside int8.
Tensor dequantize_int8(const Int8Tensor& q, Where where = Where::current());

}  // namespace wick::quantize
