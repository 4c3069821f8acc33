#version 450
#extension GL_GOOGLE_include_directive : require
#include "constants.inc"
#include "typed.glsl"

layout(local_size_x = WICK_FLAT_SIZE) in;
layout(constant_id = 0) const uint kFirst = 0;  // 128: x is signed
layout(constant_id = 1) const uint kLog = 3;    // of the bits of an entry: bytes, or float32

layout(push_constant) uniform Push { uint n; };
layout(binding = 0) readonly buffer In { uint x[]; };
layout(binding = 1) readonly buffer Table { uint table[]; };
layout(binding = 2) writeonly buffer Out { uint y[]; };

void main() {
  const uint per = elements_a_word(kLog);
  for (uint w = gl_GlobalInvocationID.x; w < (n + per - 1) / per; w += gl_NumWorkGroups.x * WICK_FLAT_SIZE) {
    uint result = 0;
    for (uint k = 0; k < per && w * per + k < n; ++k) {
      uint at = READ_PACKED(x, w * per + k, 3u) ^ kFirst;  // -128 is entry 0
      result |= READ_PACKED(table, at, kLog) << (k << kLog);
    }
    y[w] = result;
  }
}
