#version 450
#extension GL_GOOGLE_include_directive : require
#include "constants.inc"
#include "double_math.glsl"

// Elementwise float64.
layout(local_size_x = WICK_FLAT_SIZE) in;
layout(constant_id = 0) const uint kFunction = 0;  // WICK_BINARY_, or WICK_DOUBLE_UNARY + WICK_FN_
layout(constant_id = 1) const uint kRank = 1;

// A stride is 0 where the operand is broadcast. y is contiguous.
layout(push_constant) uniform Push { uint n; uint dims[8]; uint a_strides[8]; uint b_strides[8]; };
layout(binding = 0) readonly buffer A { uvec2 a[]; };
layout(binding = 1) readonly buffer B { uvec2 b[]; };
layout(binding = 2) writeonly buffer Out { uvec2 y[]; };

const uvec2 kSign = uvec2(0, 0x80000000u);

// Computes functions that only need the bits; returns false for the others.
bool has_bits(uvec2 p, uvec2 q, out uvec2 r) {
  const bool is_zero = (p | kSign) == kSign;
  r = p;
  switch (kFunction) {
    case WICK_BINARY_MAX:
    case WICK_BINARY_MIN: r = extreme_double(p, q, kFunction == WICK_BINARY_MAX); return true;
    case WICK_BINARY_PRELU: return is_nan_64(p) || is_zero || (p.y & kSign.y) == 0;
    case WICK_DOUBLE_UNARY + WICK_FN_NEG: r = p ^ kSign; return true;
    case WICK_DOUBLE_UNARY + WICK_FN_ABS: r = p & ~kSign; return true;
    case WICK_DOUBLE_UNARY + WICK_FN_RELU:
      if (!is_nan_64(p) && ((p.y & kSign.y) != 0 || is_zero)) r = uvec2(0);
      return true;
    case WICK_DOUBLE_UNARY + WICK_FN_SIGN:
      if (!is_nan_64(p)) r = is_zero ? uvec2(0) : uvec2(0, (p.y & kSign.y) | 0x3ff00000u);
      return true;
    default: return false;
  }
}

// Each function is called only once, because a compiler inlines its whole code at every call.
Number result_of(Number v, Number w) {
  switch (kFunction) {
    case WICK_BINARY_ADD:
    case WICK_BINARY_SUB: return plus(v, w);
    case WICK_BINARY_PRELU:
    case WICK_BINARY_MUL: return times(v, w);
    case WICK_BINARY_FMOD: return fmod_of(v, w);
    case WICK_BINARY_FLOOR_MOD: return floor_mod_of(v, w);
    case WICK_BINARY_DIV:
    case WICK_DOUBLE_UNARY + WICK_FN_RECIPROCAL: return divide(v, w);
    case WICK_DOUBLE_UNARY + WICK_FN_FLOOR:
    case WICK_DOUBLE_UNARY + WICK_FN_CEIL: return floor_or_ceil(v, kFunction == WICK_DOUBLE_UNARY + WICK_FN_CEIL);
    case WICK_DOUBLE_UNARY + WICK_FN_ROUND: return whole_of(v, 0);
    case WICK_DOUBLE_UNARY + WICK_FN_SQRT: return root(v);
    case WICK_DOUBLE_UNARY + WICK_FN_EXP: return exponential(v);
    default: return logarithm(v);
  }
}

uvec2 result_bits(uvec2 p, uvec2 q) {
  uvec2 r;
  if (has_bits(p, q, r)) return r;
  if (kFunction == WICK_BINARY_SUB) q ^= kSign;
  if (kFunction == WICK_DOUBLE_UNARY + WICK_FN_RECIPROCAL) {
    q = p;
    p = uvec2(0, 0x3ff00000u);
  }
  return double_of(result_of(number_of_double(p), number_of_double(q)));
}

#include "places.glsl"

void main() {
  for (uint i = gl_GlobalInvocationID.x; i < n; i += gl_NumWorkGroups.x * WICK_FLAT_SIZE) {
    uint ia, ib;
    places(i, ia, ib);
    y[i] = result_bits(a[ia], b[ib]);
  }
}
