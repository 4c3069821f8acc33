#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require
#include "constants.inc"

// Measures the peak of a device, for bench/vulkan_kernels_bench.cc: kCopy 0 runs WICK_PEAK_CHAINS chains of fma in
// registers, 1 copies vectors of 16 bytes from x to y.
layout(local_size_x = WICK_FLAT_SIZE) in;
layout(constant_id = 0) const uint kCopy = 0;
layout(push_constant) uniform Push { uint n; float a, b; };
layout(binding = 0) readonly buffer In { vec4 x[]; };
layout(binding = 1) writeonly buffer Out { vec4 y[]; };

void main() {
  uint i = gl_GlobalInvocationID.x;
  if (kCopy != 0) {
    for (; i < n; i += gl_NumWorkGroups.x * WICK_FLAT_SIZE) y[i] = x[i];
    return;
  }
  vec4 v[WICK_PEAK_CHAINS / 4];
  [[unroll]] for (uint c = 0; c < WICK_PEAK_CHAINS / 4; ++c) v[c] = vec4(float(i), float(c), a, b);
  for (uint k = 0; k < n; ++k) {
    [[unroll]] for (uint c = 0; c < WICK_PEAK_CHAINS / 4; ++c) v[c] = fma(v[c], vec4(a), vec4(b));
  }
  vec4 sum = vec4(0.0);
  [[unroll]] for (uint c = 0; c < WICK_PEAK_CHAINS / 4; ++c) sum += v[c];
  y[i] = sum;
}
