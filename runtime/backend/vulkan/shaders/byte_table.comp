#version 450
#extension GL_GOOGLE_include_directive : require
#include "constants.inc"
#include "typed.glsl"

layout(local_size_x = WICK_FLAT_SIZE) in;
layout(constant_id = 0) const uint kFirst = 0;  // 128: x is signed
layout(constant_id = 1) const uint kLog = 3;    // log2 of the bits of an entry: bytes, or float32

layout(push_constant) uniform Push { uint n; };
layout(binding = 0) readonly buffer In { uint x[]; };
layout(binding = 1) readonly buffer Table { uint table[]; };
layout(binding = 2) writeonly buffer Out { uint y[]; };

uvec2 element(uint i) {
  uint at = READ_PACKED(x, i, 3u) ^ kFirst;  // -128 is entry 0
  return uvec2(READ_PACKED(table, at, kLog), 0);
}

#include "each_word.glsl"

void main() { each_word(kLog); }
