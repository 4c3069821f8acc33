#version 450
#extension GL_GOOGLE_include_directive : require
#include "constants.inc"
#include "math.glsl"
#include "trig.glsl"
#include "typed.glsl"

layout(local_size_x = WICK_FLAT_SIZE) in;
layout(constant_id = 0) const uint kFunction = 0;
layout(constant_id = 1) const uint kRank = 1;  // of the result, neighbouring dims merged where both operands allow it

layout(constant_id = 2) const uint kType = WICK_TYPE_F16;  // for two elements per word

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
    case WICK_BINARY_DIV: return divide_f32(p, q);
    case WICK_BINARY_ATAN2: return atan2_f32(p, q);
    case WICK_BINARY_FMOD: return fmod_f32(p, q);
    case WICK_BINARY_FLOOR_MOD: return floor_mod_f32(p, q);
    case WICK_BINARY_POW: return pow_f32(p, q);
    case WICK_BINARY_PRELU: return p < 0.0 ? p * q : p;
    case WICK_BINARY_MAX: return (is_nan(p) || p > q) ? p : q;
    default: return (is_nan(p) || p < q) ? p : q;
  }
}

#include "places.glsl"

#if PACKED
void main() {
  for (uint w = gl_GlobalInvocationID.x; w < (n + 1) / 2; w += gl_NumWorkGroups.x * WICK_FLAT_SIZE) {
    uint result = 0, ia, ib;
    for (uint k = 0; k < 2 && 2 * w + k < n; ++k) {
      places(2 * w + k, ia, ib);
      float p = float_of_bits(READ_PACKED(a, ia, 4u), kType), q = float_of_bits(READ_PACKED(b, ib, 4u), kType);
      result |= bits_of_float(combine(p, q), kType) << (16 * k);
    }
    y[w] = result;
  }
}
#else
void main() {
  for (uint i = gl_GlobalInvocationID.x; i < n; i += gl_NumWorkGroups.x * WICK_FLAT_SIZE) {
    uint ia, ib;
    places(i, ia, ib);
    y[i] = STORE(combine(COMPUTE(a[ia]), COMPUTE(b[ib])));
  }
}
#endif
