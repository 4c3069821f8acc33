#version 450
#extension GL_GOOGLE_include_directive : require
#include "constants.inc"

layout(local_size_x = WICK_FLAT_SIZE) in;
layout(constant_id = 0) const uint kType = WICK_TYPE_F32;
layout(constant_id = 1) const uint kWide = 0;
layout(constant_id = 2) const uint kWideIndex = 0;

// `dims` are those that the columns of a tuple address; tuples are ordered by batch.
layout(push_constant) uniform Push {
  uint n, call, batch_tuples, columns, line;
  uint dims[8];
};
layout(binding = 0) readonly buffer In { uint x[]; };
layout(binding = 1) readonly buffer Index { uint indices[]; };
layout(binding = 2) buffer Out { uint y[]; };
layout(binding = 3) buffer Fault { uint fault; };

#include "element.glsl"
#include "index.glsl"

void main() {
  for (uint i = gl_GlobalInvocationID.x; i < n; i += gl_NumWorkGroups.x * WICK_FLAT_SIZE) {
    uint t = i / line, at = t / batch_tuples;
    bool right = true;
    for (uint j = 0; j < columns && right; ++j) {
      int index = index_at(t * columns + j, dims[j], call);
      right = index >= 0;
      at = at * dims[j] + uint(max(index, 0));
    }
    uvec2 v = right ? LOAD(x, at * line + i % line) : uvec2(0u);
    STORE_ELEMENT(y, i, v)
  }
}
