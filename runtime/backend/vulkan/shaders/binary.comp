#version 450
#extension GL_GOOGLE_include_directive : require
#include "half.glsl"
#include "constants.inc"
#include "math.glsl"

layout(local_size_x = WICK_FLAT_SIZE) in;
layout(constant_id = 0) const uint kFunction = 0;
layout(constant_id = 1) const uint kRank = 1;  // of the result, neighbouring dims merged where both operands allow

// A stride is 0 where the operand is broadcast. y is contiguous.
layout(push_constant) uniform Push { uint n; uint dims[8]; uint a_strides[8]; uint b_strides[8]; };
layout(binding = 0) readonly buffer A { STORE a[]; };
layout(binding = 1) readonly buffer B { STORE b[]; };
layout(binding = 2) writeonly buffer Out { STORE y[]; };

float combine(float p, float q) {
  switch (kFunction) {
    case WICK_BINARY_ADD: return p + q;
    case WICK_BINARY_SUB: return p - q;
    case WICK_BINARY_MUL: return p * q;
    case WICK_BINARY_DIV: return p / q;
    case WICK_BINARY_POW: return pow_f32(p, q);
    case WICK_BINARY_MAX: return (is_nan(p) || p > q) ? p : q;
    default: return (is_nan(p) || p < q) ? p : q;
  }
}

void main() {
  for (uint i = gl_GlobalInvocationID.x; i < n; i += gl_NumWorkGroups.x * WICK_FLAT_SIZE) {
    uint rest = i, ia = 0, ib = 0;
    for (int d = int(kRank) - 1; d >= 0; --d) {
      uint at = rest % dims[d];
      rest /= dims[d];
      ia += at * a_strides[d];
      ib += at * b_strides[d];
    }
    y[i] = STORE(combine(COMPUTE(a[ia]), COMPUTE(b[ib])));
  }
}
