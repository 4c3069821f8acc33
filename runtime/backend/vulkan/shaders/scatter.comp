#version 450
#extension GL_GOOGLE_include_directive : require
#include "constants.inc"

// ScatterElements. Either an invocation has an element of the output and searches the updates for it, or it has a line
// along the axis and applies the line's updates; both in the order of the indices.
layout(local_size_x = WICK_FLAT_SIZE) in;
layout(constant_id = 0) const uint kType = WICK_TYPE_F32;
layout(constant_id = 1) const uint kWide = 0;
layout(constant_id = 2) const uint kWideIndex = 0;
layout(constant_id = 3) const uint kReduction = WICK_SCATTER_NONE;
layout(constant_id = 4) const uint kRank = 1;
layout(constant_id = 5) const uint kAxis = 0;
layout(constant_id = 6) const uint kLines = 0;

// x's dims, and those of the indices, which are no larger except along the axis.
layout(push_constant) uniform Push {
  uint n, call;
  uint dims[8];
  uint index_dims[8];
};
layout(binding = 0) readonly buffer In { uint x[]; };
layout(binding = 1) readonly buffer Index { uint indices[]; };
layout(binding = 2) readonly buffer Updates { uint updates[]; };
layout(binding = 3) buffer Out { uint y[]; };
layout(binding = 4) buffer Fault { uint fault; };

#include "element.glsl"
#include "combine.glsl"
#include "index.glsl"

void main() {
  const uint extent = dims[kAxis], count = index_dims[kAxis];
  for (uint i = gl_GlobalInvocationID.x; i < n; i += gl_NumWorkGroups.x * WICK_FLAT_SIZE) {
    // Finds where the line of this element, or this line, begins in x and in the indices.
    uint rest = i, stride = 1, index_stride = 1, from = 0, first = 0, here = 0, step = 1, index_step = 1;
    bool has_updates = true;
    for (int d = int(kRank) - 1; d >= 0; --d) {
      bool along = d == int(kAxis);
      if (along) {
        step = stride;
        index_step = index_stride;
      }
      if (!along || kLines == 0) {
        uint at = rest % dims[d];
        rest /= dims[d];
        if (along) {
          here = at;
        } else {
          from += at * stride;
          first += at * index_stride;
          has_updates = has_updates && at < index_dims[d];
        }
      }
      stride *= dims[d];
      index_stride *= index_dims[d];
    }
    uint updates_here = has_updates ? count : 0;
    if (kLines == 0) {
      uvec2 v = LOAD(x, i);
      for (uint j = 0; j < updates_here; ++j) {
        uint at = first + j * index_step;
        if (index_at(at, extent, call) == int(here)) v = combine(v, LOAD(updates, at));
      }
      STORE_ELEMENT(y, i, v)
      continue;
    }
    for (uint a = 0; a < extent; ++a) {
      uint to = from + a * step;
      uvec2 v = LOAD(x, to);
      STORE_ELEMENT(y, to, v)
    }
    for (uint j = 0; j < updates_here; ++j) {
      uint at = first + j * index_step;
      int index = index_at(at, extent, call);
      if (index < 0) continue;
      uint to = from + uint(index) * step;
      uvec2 v = combine(LOAD(y, to), LOAD(updates, at));
      STORE_ELEMENT(y, to, v)
    }
  }
}
