#version 450
#extension GL_GOOGLE_include_directive : require
#include "constants.inc"
#include "math.glsl"
#include "typed.glsl"
#include "compare.glsl"

// Selections and comparisons of any dtype, and conversions between those of up to 32 bits. An invocation writes a word,
// or both words of an element.
layout(local_size_x = WICK_FLAT_SIZE) in;
layout(constant_id = 0) const uint kFunction = 0;
layout(constant_id = 1) const uint kRank = 1;  // of the result, neighbouring dims merged where all operands allow it
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
layout(binding = 2) readonly buffer C { uint c[]; };  // bools
layout(binding = 3) writeonly buffer Out { uint y[]; };

// Saturates; NaN is 0. Not used for values that float32 does not hold exactly.
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
    return is_float_type(kIn) ? uint(order_f32(float_of_bits(bits, kIn)) != 0) : uint(bits != 0);
  }
  if (is_float_type(kOut)) return bits_of_float(float_of_bits(bits, kIn), kOut);
  if (is_float_type(kIn)) return integer_of(float_of_bits(bits, kIn));
  uint wide = uint(int_of_bits(bits, kIn)), size = size_of(kOut);  // integers wrap
  return size == 4 ? wide : size == 2 ? wide & 0xffffu : wide & 0xffu;
}

bool is_infinite(uvec2 v) {
  uint bits = kIn == WICK_TYPE_F64 ? v.y : floatBitsToUint(float_of_bits(v.x, kIn));
  uint infinity = kIn == WICK_TYPE_F64 ? 0x7ff00000u : 0x7f800000u;
  if (kIn == WICK_TYPE_F64 && v.x != 0) return false;
  return (bits == infinity && (kOption & 1u) != 0) || (bits == (infinity | 0x80000000u) && (kOption & 2u) != 0);
}

uvec2 apply(uvec2 p, uvec2 q, uint chosen) {
  bool truth = false;
  switch (kFunction) {
    case WICK_POINT_EQUAL: truth = equal_of(p, q, kIn); break;
    case WICK_POINT_LESS: truth = less_of(p, q, kIn); break;
    case WICK_POINT_LESS_EQUAL: truth = less_of(p, q, kIn) || equal_of(p, q, kIn); break;
    case WICK_POINT_GREATER: truth = less_of(q, p, kIn); break;
    case WICK_POINT_GREATER_EQUAL: truth = less_of(q, p, kIn) || equal_of(p, q, kIn); break;
    // In a bool from a caller every byte but 0 is true.
    case WICK_POINT_AND: truth = p.x != 0 && q.x != 0; break;
    case WICK_POINT_OR: truth = (p.x | q.x) != 0; break;
    case WICK_POINT_XOR: truth = (p.x != 0) != (q.x != 0); break;
    case WICK_POINT_NOT: truth = p.x == 0; break;
    case WICK_POINT_WHERE: return chosen != 0 ? p : q;
    case WICK_POINT_IS_NAN: truth = is_nan_of(p, kIn); break;
    case WICK_POINT_IS_INF: truth = is_infinite(p); break;
    default: return uvec2(convert(p.x), 0);
  }
  return uvec2(uint(truth), 0);
}

uvec2 element(uint i) {
  const uint log = log_bits(kIn);
  uint rest = i, ia = 0, ib = 0, ic = 0;
  for (int d = int(kRank) - 1; d >= 0; --d) {
    uint at = rest % dims[d];
    rest /= dims[d];
    ia += at * a_strides[d];
    ib += at * b_strides[d];
    ic += at * c_strides[d];
  }
  uvec2 p = READ_ANY(a, ia, log);
  uvec2 q = kFunction < WICK_POINT_FIRST_UNARY ? READ_ANY(b, ib, log) : uvec2(0);
  uint chosen = kFunction == WICK_POINT_WHERE ? READ_PACKED(c, ic, 3u) : 0u;
  return apply(p, q, chosen);
}

#include "each_word.glsl"

void main() { each_word(log_bits(kOut)); }
