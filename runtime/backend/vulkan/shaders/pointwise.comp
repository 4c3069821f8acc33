#version 450
#extension GL_GOOGLE_include_directive : require
#include "constants.inc"
#include "math.glsl"
#include "typed.glsl"

// What chooses, compares or converts, between any two dtypes of up to 32 bits. An invocation makes one word.
layout(local_size_x = WICK_FLAT_SIZE) in;
layout(constant_id = 0) const uint kFunction = 0;
layout(constant_id = 1) const uint kRank = 1;  // of the result, neighbouring dims merged where all operands allow
layout(constant_id = 2) const uint kIn = WICK_TYPE_F32;   // of a and b
layout(constant_id = 3) const uint kOut = WICK_TYPE_F32;
layout(constant_id = 4) const uint kOption = 0;

// A stride is 0 where the operand is broadcast. y is contiguous.
layout(push_constant) uniform Push {
  uint n;
  uint dims[6];
  uint a_strides[6];
  uint b_strides[6];
  uint c_strides[6];
};
layout(binding = 0) readonly buffer A { uint a[]; };
layout(binding = 1) readonly buffer B { uint b[]; };
layout(binding = 2) readonly buffer C { uint c[]; };  // of bools
layout(binding = 3) writeonly buffer Out { uint y[]; };

bool less(uint p, uint q) {
  if (is_float_type(kIn)) return float_of_bits(p, kIn) < float_of_bits(q, kIn);
  if (kIn == WICK_TYPE_U32) return p < q;
  return int_of_bits(p, kIn) < int_of_bits(q, kIn);
}
bool equal(uint p, uint q) {
  return is_float_type(kIn) ? float_of_bits(p, kIn) == float_of_bits(q, kIn) : p == q;
}

// Saturates, NaN is 0; behind a float's exactness nothing is asked of it.
uint integer_of(float v) {
  if (is_nan(v)) return 0;
  switch (kOut) {
    case WICK_TYPE_I32: return v >= 2147483648.0 ? 0x7fffffffu : v <= -2147483648.0 ? 0x80000000u : uint(int(v));
    case WICK_TYPE_U32: return v >= 4294967296.0 ? 0xffffffffu : v <= 0.0 ? 0u : uint(v);
    case WICK_TYPE_I16: return uint(int(clamp(v, -32768.0, 32767.0))) & 0xffffu;
    case WICK_TYPE_U16: return uint(clamp(v, 0.0, 65535.0));
    case WICK_TYPE_I8: return uint(int(clamp(v, -128.0, 127.0))) & 0xffu;
    default: return uint(clamp(v, 0.0, 255.0));
  }
}

uint convert(uint bits) {
  if (kOut == WICK_TYPE_BOOL) {
    return is_float_type(kIn) ? uint(float_of_bits(bits, kIn) != 0.0) : uint(bits != 0);
  }
  if (is_float_type(kOut)) return bits_of_float(float_of_bits(bits, kIn), kOut);
  if (is_float_type(kIn)) return integer_of(float_of_bits(bits, kIn));
  uint wide = uint(int_of_bits(bits, kIn)), size = size_of(kOut);  // integers wrap
  return size == 4 ? wide : size == 2 ? wide & 0xffffu : wide & 0xffu;
}

uint apply(uint p, uint q, uint chosen) {
  switch (kFunction) {
    case WICK_POINT_EQUAL: return uint(equal(p, q));
    case WICK_POINT_LESS: return uint(less(p, q));
    case WICK_POINT_LESS_EQUAL: return uint(less(p, q) || equal(p, q));
    case WICK_POINT_GREATER: return uint(less(q, p));
    case WICK_POINT_GREATER_EQUAL: return uint(less(q, p) || equal(p, q));
    case WICK_POINT_AND: return p & q;
    case WICK_POINT_OR: return p | q;
    case WICK_POINT_XOR: return p ^ q;
    case WICK_POINT_NOT: return p ^ 1u;
    case WICK_POINT_WHERE: return chosen != 0 ? p : q;
    case WICK_POINT_IS_NAN: return uint(is_nan(float_of_bits(p, kIn)));
    case WICK_POINT_IS_INF: {
      uint bits = floatBitsToUint(float_of_bits(p, kIn));
      return uint((bits == 0x7f800000u && (kOption & 1u) != 0) || (bits == 0xff800000u && (kOption & 2u) != 0));
    }
    default: return convert(p);
  }
}

void main() {
  uint per = 4 / size_of(kOut), words = (n + per - 1) / per, in_size = size_of(kIn);
  for (uint w = gl_GlobalInvocationID.x; w < words; w += gl_NumWorkGroups.x * WICK_FLAT_SIZE) {
    uint result = 0;
    for (uint k = 0; k < per && w * per + k < n; ++k) {
      uint rest = w * per + k, ia = 0, ib = 0, ic = 0;
      for (int d = int(kRank) - 1; d >= 0; --d) {
        uint at = rest % dims[d];
        rest /= dims[d];
        ia += at * a_strides[d];
        ib += at * b_strides[d];
        ic += at * c_strides[d];
      }
      uint p = READ_BITS(a, ia, in_size);
      uint q = kFunction < WICK_POINT_FIRST_UNARY ? READ_BITS(b, ib, in_size) : 0u;
      uint chosen = kFunction == WICK_POINT_WHERE ? READ_BITS(c, ic, 1) : 0u;
      uint bits = apply(p, q, chosen);
      result |= per == 1 ? bits : bits << (k * (32 / per));
    }
    y[w] = result;
  }
}
