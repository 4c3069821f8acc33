#version 450
#extension GL_GOOGLE_include_directive : require
#include "half.glsl"
#include "constants.inc"

layout(local_size_x = WICK_FLAT_SIZE) in;

// x is [N, channels, inner].
layout(push_constant) uniform Push { uint n, channels, inner; float epsilon; };
layout(binding = 0) readonly buffer In { STORE x[]; };
layout(binding = 1) readonly buffer Gamma { STORE gamma[]; };
layout(binding = 2) readonly buffer Beta { STORE beta[]; };
layout(binding = 3) readonly buffer Mean { STORE mean[]; };
layout(binding = 4) readonly buffer Var { STORE var[]; };
layout(binding = 5) writeonly buffer Out { STORE y[]; };

void main() {
  for (uint i = gl_GlobalInvocationID.x; i < n; i += gl_NumWorkGroups.x * WICK_FLAT_SIZE) {
    uint c = (i / inner) % channels;
    float scale = COMPUTE(gamma[c]) / sqrt(COMPUTE(var[c]) + epsilon);
    float shift = fma(-COMPUTE(mean[c]), scale, COMPUTE(beta[c]));
    y[i] = STORE(fma(COMPUTE(x[i]), scale, shift));
  }
}
