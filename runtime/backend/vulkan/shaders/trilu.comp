#version 450
#extension GL_GOOGLE_include_directive : require
#include "constants.inc"

layout(local_size_x = WICK_FLAT_SIZE) in;
layout(constant_id = 0) const uint kType = WICK_TYPE_F32;
layout(constant_id = 1) const uint kWide = 0;
layout(constant_id = 2) const uint kUpper = 1;

layout(push_constant) uniform Push { uint n; int rows, columns, diagonal; };
layout(binding = 0) readonly buffer In { uint x[]; };
layout(binding = 1) buffer Out { uint y[]; };

#include "element.glsl"

void main() {
  for (uint i = gl_GlobalInvocationID.x; i < n; i += gl_NumWorkGroups.x * WICK_FLAT_SIZE) {
    int column = int(i % uint(columns)), first = int(i / uint(columns) % uint(rows)) + diagonal;
    bool kept = kUpper != 0 ? column >= first : column <= first;
    uvec2 v = kept ? LOAD(x, i) : uvec2(0u);
    STORE_ELEMENT(y, i, v)
  }
}
