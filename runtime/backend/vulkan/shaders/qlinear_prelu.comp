#version 450
#extension GL_GOOGLE_include_directive : require
#include "constants.inc"
#include "typed.glsl"
#include "number.glsl"
#include "divide.glsl"

// QLinearPRelu: the float32 operations of BytePRelu (kernels/bytes/qlinear.h), in this order.
layout(local_size_x = WICK_FLAT_SIZE) in;
layout(constant_id = 0) const uint kX = WICK_TYPE_U8;
layout(constant_id = 1) const uint kRank = 1;  // of the result, neighbouring dims merged where both operands allow it

// A stride is 0 where the operand is broadcast. y is contiguous.
layout(push_constant) uniform Push {
  uint n;
  float x_scale, y_scale;
  int x_zero;
  float low, high;  // minus the zero point
  int zero;
  uint dims[8];
  uint a_strides[8];
  uint b_strides[8];
};
layout(binding = 0) readonly buffer X { uint x[]; };
layout(binding = 1) readonly buffer Slope { float slope[]; };
layout(binding = 2) writeonly buffer Out { uint y[]; };

#include "places.glsl"

// A device's quotient may be a few units off, which matters only near a tie.
float steps(float v) {
  if ((floatBitsToUint(v) & 0x7fffffffu) > 0x7f800000u) return 0.0;  // NaN is the zero point
  float q = v / y_scale, whole = roundEven(q);
  return abs(abs(q - whole) - 0.5) <= 1e-6 * abs(q) ? roundEven(quotient_f32(v, y_scale)) : whole;
}

uvec2 element(uint i) {
  uint ix, is;
  places(i, ix, is);
  precise float real = float(int_of_bits(READ_PACKED(x, ix, 3u), kX) - x_zero) * x_scale;
  if (real < 0.0) real = real * slope[is];
  float whole = steps(real);
  return uvec2(int(whole < low ? low : whole > high ? high : whole) + zero, 0);
}

#include "each_word.glsl"

void main() { each_word(3u); }
