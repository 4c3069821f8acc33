#version 450
#extension GL_GOOGLE_include_directive : require
#include "constants.inc"
#include "typed.glsl"
#include "number.glsl"
#include "per_element.glsl"

// (x - zero) * scale in float32, rounded once more to 16 bits.
layout(local_size_x = WICK_FLAT_SIZE) in;

float float_of(Number v) { return uintBitsToFloat(f32_bits(v).x); }

uint element(uint i) {
  uvec2 v = READ_ANY(x, i, log_bits(kX));
  float real;
  if (is_real_type(kX)) {
    real = float_of(number_of(v, kX));
    if (kHasZero != 0) real -= float_of(number_of(zero_bits(i), kZeroType));
  } else {
    uvec2 whole = widened(v, kX);
    if (kHasZero != 0) whole = add_64(whole, negate_64(widened(zero_bits(i), kZeroType)));
    real = log_bits(kX) == 5u ? float_of(integer_number(whole, true)) : float(int(whole.x));
  }
  float scale = kScaleType == WICK_TYPE_F32 ? uintBitsToFloat(scale_bits(i).x) : float_of(number_of(scale_bits(i), kScaleType));
  return bits_of_float(real * scale, kY);
}

void main() {
  const uint log = log_bits(kY), per = elements_a_word(log);
  for (uint w = gl_GlobalInvocationID.x; w < (n + per - 1) / per; w += gl_NumWorkGroups.x * WICK_FLAT_SIZE) {
    uint result = 0;
    for (uint k = 0; k < per && w * per + k < n; ++k) result |= element(w * per + k) << (k << log);
    y[w] = result;
  }
}
