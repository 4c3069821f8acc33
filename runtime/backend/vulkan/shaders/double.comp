#version 450
#extension GL_GOOGLE_include_directive : require
#include "constants.inc"
#include "math.glsl"
#include "typed.glsl"
#include "compare.glsl"
#include "number.glsl"
#include "divide.glsl"
#include "double_math.glsl"

// Elementwise float64.
layout(local_size_x = WICK_FLAT_SIZE) in;
layout(constant_id = 0) const uint kFunction = 0;  // WICK_BINARY_, or WICK_FN_ behind WICK_DOUBLE_UNARY
layout(constant_id = 1) const uint kRank = 1;

// A stride is 0 where the operand is broadcast. y is contiguous.
layout(push_constant) uniform Push { uint n; uint dims[8]; uint a_strides[8]; uint b_strides[8]; };
layout(binding = 0) readonly buffer A { uvec2 a[]; };
layout(binding = 1) readonly buffer B { uvec2 b[]; };
layout(binding = 2) writeonly buffer Out { uvec2 y[]; };

uvec2 binary(uvec2 p, uvec2 q) {
  if (kFunction == WICK_BINARY_MAX || kFunction == WICK_BINARY_MIN)
    return extreme_double(p, q, kFunction == WICK_BINARY_MAX);
  Number v = number_of_double(p), w = number_of_double(q), r;
  switch (kFunction) {
    case WICK_BINARY_ADD: r = plus(v, w); break;
    case WICK_BINARY_SUB: r = plus(v, negated(w)); break;
    case WICK_BINARY_MUL: r = times(v, w); break;
    case WICK_BINARY_DIV: r = divide(v, w); break;
    case WICK_BINARY_FMOD: r = fmod_of(v, w); break;
    default: r = floor_mod_of(v, w); break;
  }
  return double_of(r);
}

uvec2 unary(uvec2 p) {
  const uvec2 sign = uvec2(0, 0x80000000u);
  Number v = number_of_double(p);
  switch (kFunction - WICK_DOUBLE_UNARY) {
    case WICK_FN_NEG: return p ^ sign;
    case WICK_FN_ABS: return p & ~sign;
    case WICK_FN_RELU: return v.kind != kNaN && (v.negative || v.kind == kZero) ? uvec2(0) : p;
    case WICK_FN_SIGN:
      if (v.kind == kNaN) return p;
      if (v.kind == kZero) return uvec2(0);
      return uvec2(0, v.negative ? 0xbff00000u : 0x3ff00000u);
    case WICK_FN_FLOOR: return double_of(floor_or_ceil(v, false));
    case WICK_FN_CEIL: return double_of(floor_or_ceil(v, true));
    case WICK_FN_ROUND: return double_of(whole_of(v, 0));
    case WICK_FN_SQRT: return double_of(root(v));
    case WICK_FN_RECIPROCAL: return double_of(divide(finite(false, uvec2(1, 0), 0), v));
    case WICK_FN_EXP: return double_of(exponential(v));
    default: return double_of(logarithm(v));
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
    y[i] = kFunction >= WICK_DOUBLE_UNARY ? unary(a[ia]) : binary(a[ia], b[ib]);
  }
}
