#version 450
#extension GL_GOOGLE_include_directive : require
#include "constants.inc"

layout(local_size_x = WICK_FLAT_SIZE) in;
layout(constant_id = 0) const uint kDims = 2;

// y[N, dims..., kDims]; where[] has the points of each dim in turn, from -1 to 1.
layout(push_constant) uniform Push { uint n, points; uint dims[3]; };
layout(binding = 0) readonly buffer Theta { float theta[]; };
layout(binding = 1) readonly buffer Where { float where[]; };
layout(binding = 2) writeonly buffer Out { float y[]; };

void main() {
  for (uint i = gl_GlobalInvocationID.x; i < n; i += gl_NumWorkGroups.x * WICK_FLAT_SIZE) {
    uint row = i % kDims, rest = i / kDims % points;
    uint matrix = (i / kDims / points * kDims + row) * (kDims + 1);
    uint end = dims[0] + dims[1] + dims[2];
    float sum = 0.0;
    // From the last dim on, in the order of theta's columns.
    for (int d = 2; d >= 3 - int(kDims); --d) {
      end -= dims[d];
      sum = fma(theta[matrix + uint(2 - d)], where[end + rest % dims[d]], sum);
      rest /= dims[d];
    }
    y[i] = sum + theta[matrix + kDims];
  }
}
