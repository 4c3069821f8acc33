#version 450
#extension GL_GOOGLE_include_directive : require
#include "constants.inc"
#include "math.glsl"
#include "typed.glsl"
#include "compare.glsl"

// Clip for any number type, with bounds from tensors or push constants. An invocation writes a word, or both words of
// an element.
layout(local_size_x = WICK_FLAT_SIZE) in;
layout(constant_id = 0) const uint kType = WICK_TYPE_F32;
layout(constant_id = 1) const uint kLowTensor = 0;
layout(constant_id = 2) const uint kHighTensor = 0;

layout(push_constant) uniform Push { uint n, low_0, low_1, high_0, high_1; };
layout(binding = 0) readonly buffer In { uint x[]; };
layout(binding = 1) readonly buffer Low { uint lows[]; };
layout(binding = 2) readonly buffer High { uint highs[]; };
layout(binding = 3) writeonly buffer Out { uint y[]; };

bool at_most(uvec2 p, uvec2 q) { return less_of(p, q, kType) || equal_of(p, q, kType); }

uvec2 element(uint i) {
  const uint log = log_bits(kType);
  uvec2 low = uvec2(low_0, low_1), high = uvec2(high_0, high_1);
  if (kLowTensor != 0) low = READ_ANY(lows, 0u, log);
  if (kHighTensor != 0) high = READ_ANY(highs, 0u, log);
  uvec2 v = READ_ANY(x, i, log);
  v = at_most(v, low) ? low : v;
  return at_most(high, v) ? high : v;
}

#include "each_word.glsl"

void main() { each_word(log_bits(kType)); }
