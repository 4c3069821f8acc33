#version 450
#extension GL_GOOGLE_include_directive : require
#include "constants.inc"

// ScatterND. Either an invocation has an element of the output and searches all tuples for those that address its line;
// or, if lines are long, y already is a copy of x and an invocation has a position in the lines and applies all tuples
// there.
layout(local_size_x = WICK_FLAT_SIZE) in;
layout(constant_id = 0) const uint kType = WICK_TYPE_F32;
layout(constant_id = 1) const uint kWide = 0;
layout(constant_id = 2) const uint kWideIndex = 0;
layout(constant_id = 3) const uint kReduction = WICK_SCATTER_NONE;
layout(constant_id = 4) const uint kPhase = WICK_SCATTER_LOOK;

layout(push_constant) uniform Push {
  uint n, call, tuples, columns, line;
  uint dims[8];
};
layout(binding = 0) readonly buffer In { uint x[]; };
layout(binding = 1) readonly buffer Index { uint indices[]; };
layout(binding = 2) readonly buffer Updates { uint updates[]; };
layout(binding = 3) buffer Out { uint y[]; };
layout(binding = 4) buffer Fault { uint fault; };

#include "element.glsl"
#include "combine.glsl"
#include "index.glsl"

// Returns the line that tuple t addresses; -1: none.
int line_of(uint t) {
  int at = 0;
  for (uint j = 0; j < columns; ++j) {
    int index = index_at(t * columns + j, dims[j], call);
    if (index < 0) return -1;
    at = at * int(dims[j]) + index;
  }
  return at;
}

void main() {
  for (uint i = gl_GlobalInvocationID.x; i < n; i += gl_NumWorkGroups.x * WICK_FLAT_SIZE) {
    if (kPhase == WICK_SCATTER_APPLY) {
      for (uint t = 0; t < tuples; ++t) {
        int at = line_of(t);
        if (at < 0) continue;
        uint to = uint(at) * line + i;
        uvec2 v = combine(LOAD(y, to), LOAD(updates, t * line + i));
        STORE_ELEMENT(y, to, v)
      }
      continue;
    }
    uvec2 v = LOAD(x, i);
    uint here = i / line, place = i % line;
    for (uint t = 0; kPhase == WICK_SCATTER_LOOK && t < tuples; ++t) {
      if (line_of(t) == int(here)) v = combine(v, LOAD(updates, t * line + place));
    }
    STORE_ELEMENT(y, i, v)
  }
}
