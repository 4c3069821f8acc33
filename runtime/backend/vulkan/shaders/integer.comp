#version 450
#extension GL_GOOGLE_include_directive : require
#include "constants.inc"
#include "typed.glsl"
#include "number.glsl"

// Arithmetic on integers of any width, like the CPU's: it wraps, and division by 0 gives 0. Elements are sign- or
// zero-extended to 64 bits and truncated again. An invocation writes a word, or both words of an element.
layout(local_size_x = WICK_FLAT_SIZE) in;
layout(constant_id = 0) const uint kFunction = 0;
layout(constant_id = 1) const uint kRank = 1;  // of the result, neighbouring dims merged where all operands allow it

// A stride is 0 where the operand is broadcast. y is contiguous.
// `type` is a's and y's, `other` b's: no specialisation constants, so that one pipeline serves all widths.
layout(push_constant) uniform Push { uint n, type, other; uint dims[8]; uint a_strides[8]; uint b_strides[8]; };
layout(binding = 0) readonly buffer A { uint a[]; };
layout(binding = 1) readonly buffer B { uint b[]; };
layout(binding = 2) writeonly buffer Out { uint y[]; };

const uvec2 kNone = uvec2(0), kOne = uvec2(1, 0), kMinusOne = uvec2(0xffffffffu);

bool is_signed() { return is_signed_type(type); }
bool negative(uvec2 v) { return is_signed() && (v.y & 0x80000000u) != 0; }
uvec2 magnitude(uvec2 v) { return negative(v) ? negate_64(v) : v; }
bool below(uvec2 p, uvec2 q) {
  const uint sign = is_signed() ? 0x80000000u : 0u;
  return less_64(uvec2(p.x, p.y ^ sign), uvec2(q.x, q.y ^ sign));
}

// Unsigned division: p = quotient q + rest; q is not 0.
void divide(uvec2 p, uvec2 q, out uvec2 quotient, out uvec2 rest) {
  if ((p.y | q.y) == 0) {
    uint by = max(q.x, 1u);
    quotient = uvec2(p.x / by, 0);
    rest = uvec2(p.x % by, 0);
    return;
  }
  quotient = uvec2(0);
  rest = uvec2(0);
  const uvec2 minus = negate_64(q);
  for (int i = 63; i >= 0; --i) {
    bool over = (rest.y >> 31) != 0;
    rest = shift_left(rest, 1) | uvec2(shift_right(p, i).x & 1u, 0);
    quotient = shift_left(quotient, 1);
    if (over || !less_64(rest, q)) {
      rest = add_64(rest, minus);
      quotient.x |= 1u;
    }
  }
}
uvec2 quotient_of(uvec2 p, uvec2 q) {
  if (q == kNone) return kNone;
  uvec2 quotient, rest;
  divide(magnitude(p), magnitude(q), quotient, rest);
  return negative(p) != negative(q) ? negate_64(quotient) : quotient;
}
uvec2 remainder_of(uvec2 p, uvec2 q, bool floored) {
  if (q == kNone) return kNone;
  uvec2 quotient, rest;
  divide(magnitude(p), magnitude(q), quotient, rest);
  if (negative(p)) rest = negate_64(rest);
  return floored && rest != kNone && negative(rest) != negative(q) ? add_64(rest, q) : rest;
}

uvec2 power_of(uvec2 p, uvec2 q) {
  if (is_signed_type(other) && (q.y & 0x80000000u) != 0) {
    if (p == kOne || (is_signed() && p == kMinusOne)) return (q.x & 1u) == 0 ? kOne : p;
    return kNone;
  }
  // Squares repeat modulo 2^64: an exponent beyond 2^63 acts like a smaller large one with the same low bits.
  if ((q.y & 0x80000000u) != 0) q.y = (q.y & 0x7fffffffu) | 0x40000000u;
  uvec2 result = kOne;
  for (int i = 0; i < 64 && q != kNone; ++i) {
    if ((q.x & 1u) != 0) result = multiply_64(result, p);
    p = multiply_64(p, p);
    q = shift_right(q, 1);
  }
  return result;
}

uvec2 shifted(uvec2 p, uvec2 count, bool right) {
  const uint width = 1u << log_bits(type);
  bool beyond = count.y != 0 || count.x >= width;  // also for a negative count
  if (!right) return beyond ? kNone : shift_left(p, int(count.x));
  if (beyond) return negative(p) ? kMinusOne : kNone;
  return negative(p) ? ~shift_right(~p, int(count.x)) : shift_right(p, int(count.x));
}

uvec2 combine(uvec2 p, uvec2 q) {
  switch (kFunction) {
    case WICK_INTEGER_ADD: return add_64(p, q);
    case WICK_INTEGER_SUB: return add_64(p, negate_64(q));
    case WICK_INTEGER_PRELU: return negative(p) ? multiply_64(p, q) : p;
    case WICK_INTEGER_MUL: return multiply_64(p, q);
    case WICK_INTEGER_DIV: return quotient_of(p, q);
    case WICK_INTEGER_MAX: return below(q, p) ? p : q;
    case WICK_INTEGER_MIN: return below(p, q) ? p : q;
    case WICK_INTEGER_FMOD: return remainder_of(p, q, false);
    case WICK_INTEGER_FLOOR_MOD: return remainder_of(p, q, true);
    case WICK_INTEGER_AND: return p & q;
    case WICK_INTEGER_OR: return p | q;
    case WICK_INTEGER_XOR: return p ^ q;
    case WICK_INTEGER_SHIFT_LEFT: return shifted(p, q, false);
    case WICK_INTEGER_SHIFT_RIGHT: return shifted(p, q, true);
    case WICK_INTEGER_POW: return power_of(p, q);
    case WICK_INTEGER_NEG: return negate_64(p);
    case WICK_INTEGER_ABS: return magnitude(p);
    case WICK_INTEGER_SIGN: return p == kNone ? kNone : negative(p) ? kMinusOne : kOne;
    case WICK_INTEGER_RELU: return negative(p) ? kNone : p;
    default: return ~p;
  }
}

#include "places.glsl"

uvec2 element(uint i) {
  uint ia, ib;
  places(i, ia, ib);
  uvec2 p = widened(READ_ANY(a, ia, log_bits(type)), type), q = kNone;
  if (kFunction < WICK_INTEGER_FIRST_UNARY) q = widened(READ_ANY(b, ib, log_bits(other)), other);
  return combine(p, q);
}

#include "each_word.glsl"

void main() { each_word(log_bits(type)); }
