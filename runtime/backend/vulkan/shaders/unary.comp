#version 450
#extension GL_GOOGLE_include_directive : require
#include "constants.inc"
#include "math.glsl"
#if TRIGONOMETRIC
#include "trig.glsl"
#endif
#include "typed.glsl"

layout(local_size_x = WICK_FLAT_SIZE) in;
layout(constant_id = 0) const uint kFunction = 0;
layout(constant_id = 1) const uint kType = WICK_TYPE_F16;  // for two elements per word

layout(push_constant) uniform Push { uint n; float alpha, beta; };
layout(binding = 0) readonly buffer In { STORE x[]; };
layout(binding = 1) writeonly buffer Out { STORE y[]; };

#if TRIGONOMETRIC
float of(float v) { return apply_trigonometric(kFunction, v); }
#else
float of(float v) { return apply(kFunction, v, alpha, beta); }
#endif

#if PACKED
void main() {
  for (uint w = gl_GlobalInvocationID.x; w < (n + 1) / 2; w += gl_NumWorkGroups.x * WICK_FLAT_SIZE) {
    uint both = x[w], result = 0;
    for (uint k = 0; k < 2 && 2 * w + k < n; ++k) {
      float v = float_of_bits((both >> (16 * k)) & 0xffffu, kType);
      result |= bits_of_float(of(v), kType) << (16 * k);
    }
    y[w] = result;
  }
}
#else
void main() {
  for (uint i = gl_GlobalInvocationID.x; i < n; i += gl_NumWorkGroups.x * WICK_FLAT_SIZE) {
    y[i] = STORE(of(COMPUTE(x[i])));
  }
}
#endif
