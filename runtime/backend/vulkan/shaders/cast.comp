#version 450
#extension GL_GOOGLE_include_directive : require
#include "constants.inc"
#include "typed.glsl"
#include "number.glsl"

// Converts between any two dtypes, exactly or rounded once. An invocation writes a word, or both words of an element.
layout(local_size_x = WICK_FLAT_SIZE) in;
layout(constant_id = 0) const uint kIn = WICK_TYPE_F32;
layout(constant_id = 1) const uint kOut = WICK_TYPE_F32;
layout(constant_id = 2) const uint kSaturate = 1;
layout(constant_id = 3) const uint kRoundMode = 0;

layout(push_constant) uniform Push { uint n; };
layout(binding = 0) readonly buffer In { uint x[]; };
layout(binding = 1) writeonly buffer Out { uint y[]; };

uvec2 element(uint i) {
  uvec2 bits = READ_ANY(x, i, log_bits(kIn));
  if (!is_real_type(kIn) && !is_real_type(kOut) && kOut != WICK_TYPE_BOOL) return widened(bits, kIn);  // wraps
  Number v = number_of(bits, kIn);
  // The CPU converts 64-bit integers to the shorter floats through float64.
  if ((kIn == WICK_TYPE_I64 || kIn == WICK_TYPE_U64) && is_real_type(kOut) && kOut != WICK_TYPE_F32)
    v = to_53_digits(v);
  return bits_of_number(v, kOut, kSaturate != 0, kRoundMode);
}

#include "each_word.glsl"

void main() { each_word(log_bits(kOut)); }
