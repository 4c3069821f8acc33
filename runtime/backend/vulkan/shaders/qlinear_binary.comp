#version 450
#extension GL_GOOGLE_include_directive : require
#include "constants.inc"
#include "typed.glsl"

// QLinearAdd and QLinearMul: the float32 operations of kernels/requantize.h, in this order.
layout(local_size_x = WICK_FLAT_SIZE) in;
layout(constant_id = 0) const uint kSum = 1;
layout(constant_id = 1) const uint kRank = 1;
layout(constant_id = 2) const uint kA = WICK_TYPE_U8;
layout(constant_id = 3) const uint kB = WICK_TYPE_U8;

layout(push_constant) uniform Push {
  uint n;
  float a_factor, b_factor;  // a product uses only a's
  int a_zero, b_zero;
  float low, high;  // minus the zero point
  int zero;
  uint dims[8];
  uint a_strides[8];
  uint b_strides[8];
};
layout(binding = 0) readonly buffer A { uint a[]; };
layout(binding = 1) readonly buffer B { uint b[]; };
layout(binding = 2) writeonly buffer Out { uint y[]; };

#include "places.glsl"

uvec2 element(uint i) {
  uint ia, ib;
  places(i, ia, ib);
  int p = int_of_bits(READ_PACKED(a, ia, 3u), kA) - a_zero, q = int_of_bits(READ_PACKED(b, ib, 3u), kB) - b_zero;
  precise float real;
  if (kSum != 0) {
    precise float left = float(p) * a_factor, right = float(q) * b_factor;
    real = left + right;
  } else {
    real = float(p * q) * a_factor;
  }
  return uvec2(int(roundEven(real < low ? low : real > high ? high : real)) + zero, 0);
}

#include "each_word.glsl"

void main() { each_word(3u); }
