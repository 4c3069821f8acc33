#version 450
#extension GL_GOOGLE_include_directive : require
#include "constants.inc"

layout(local_size_x = WICK_FLAT_SIZE) in;

layout(push_constant) uniform Push { uint words, value, value_high; };  // two alternating words
layout(binding = 0) writeonly buffer Out { uint y[]; };

void main() {
  for (uint i = gl_GlobalInvocationID.x; i < words; i += gl_NumWorkGroups.x * WICK_FLAT_SIZE) {
    y[i] = (i & 1u) == 0 ? value : value_high;
  }
}
