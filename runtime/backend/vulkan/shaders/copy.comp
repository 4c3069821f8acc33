#version 450
#extension GL_GOOGLE_include_directive : require
#include "constants.inc"

// Copies elements between two strided views: transpose, expand, slice, split, concat.
layout(local_size_x = WICK_FLAT_SIZE) in;
layout(constant_id = 0) const uint kRank = 1;

layout(push_constant) uniform Push {
  uint n, in_offset, out_offset;
  uint dims[8];
  int in_strides[8];  // negative where a slice steps backwards
  int out_strides[8];
};
layout(binding = 0) readonly buffer In { STORE x[]; };
layout(binding = 1) writeonly buffer Out { STORE y[]; };

void main() {
  for (uint i = gl_GlobalInvocationID.x; i < n; i += gl_NumWorkGroups.x * WICK_FLAT_SIZE) {
    uint rest = i;
    int from = int(in_offset), to = int(out_offset);
    for (int d = int(kRank) - 1; d >= 0; --d) {
      int at = int(rest % dims[d]);
      rest /= dims[d];
      from += at * in_strides[d];
      to += at * out_strides[d];
    }
    y[to] = x[from];
  }
}
