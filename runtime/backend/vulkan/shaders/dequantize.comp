#version 450
#extension GL_GOOGLE_include_directive : require
#include "constants.inc"
#include "typed.glsl"
#include "number.glsl"
#include "per_element.glsl"

// (x - zero) * scale in float32, with another rounding to 16-bit outputs.
layout(local_size_x = WICK_FLAT_SIZE) in;

float float_of(Number v) { return uintBitsToFloat(f32_bits(v).x); }

uvec2 element(uint i) {
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
  return uvec2(bits_of_float(real * scale, kY), 0);
}

#include "each_word.glsl"

void main() { each_word(log_bits(kY)); }
