#version 450
#extension GL_GOOGLE_include_directive : require
#include "constants.inc"
#include "f16.glsl"

// Functions whose float16 results equal those of float32 rounded once (kBinaryInF16). With one dim, words are read
// directly.
layout(local_size_x = WICK_FLAT_SIZE) in;
layout(constant_id = 0) const uint kFunction = 0;
layout(constant_id = 1) const uint kRank = 1;  // of the result, neighbouring dims merged where both operands allow it

// A stride is 0 where the operand is broadcast. y is contiguous.
layout(push_constant) uniform Push { uint n; uint dims[8]; uint a_strides[8]; uint b_strides[8]; };
layout(binding = 0) readonly buffer A { uint a[]; };
layout(binding = 1) readonly buffer B { uint b[]; };
layout(binding = 2) writeonly buffer Out { uint y[]; };

// Returns a mask of the halves of a word in which both are equal.
uint where_equal(f16vec2 u, f16vec2 v) {
  bvec2 same = equal(u, v);
  return (same.x ? 0xffffu : 0u) | (same.y ? 0xffff0000u : 0u);
}
// NaN is returned if there is one (for the largest and the smallest); +0 is above -0.
uint larger(uint p, uint q) {
  f16vec2 u = unpackFloat2x16(p), v = unpackFloat2x16(q);
  uint chosen = packFloat2x16(mix(mix(v, u, greaterThan(u, v)), u, isnan(u)));
  return chosen & (~where_equal(u, v) | p);
}
uint smaller(uint p, uint q) {
  f16vec2 u = unpackFloat2x16(p), v = unpackFloat2x16(q);
  uint chosen = packFloat2x16(mix(mix(v, u, lessThan(u, v)), u, isnan(u)));
  return chosen | (where_equal(u, v) & p);
}

uint combine(uint p, uint q) {
  f16vec2 u = unpackFloat2x16(p), v = unpackFloat2x16(q);
  switch (kFunction) {
    case WICK_BINARY_ADD: return packFloat2x16(u + v);
    case WICK_BINARY_SUB: return packFloat2x16(u - v);
    case WICK_BINARY_MUL: return packFloat2x16(u * v);
    case WICK_BINARY_MAX: return larger(p, q);
    default: return smaller(p, q);
  }
}

void places(uint i, out uint ia, out uint ib) {
  uint rest = i;
  ia = 0;
  ib = 0;
  for (int d = int(kRank) - 1; d >= 0; --d) {
    uint at = rest % dims[d];
    rest /= dims[d];
    ia += at * a_strides[d];
    ib += at * b_strides[d];
  }
}

#define HALF_AT(words, i) ((words[(i) >> 1] >> (((i) & 1u) * 16u)) & 0xffffu)

void main() {
  for (uint w = gl_GlobalInvocationID.x; w < (n + 1) / 2; w += gl_NumWorkGroups.x * WICK_FLAT_SIZE) {
    uint p = 0, q = 0;
    if (kRank == 1) {
      p = a_strides[0] == 0 ? HALF_AT(a, 0u) * 0x10001u : a[w];
      q = b_strides[0] == 0 ? HALF_AT(b, 0u) * 0x10001u : b[w];
    } else {
      uint ia, ib;
      for (uint k = 0; k < 2 && 2 * w + k < n; ++k) {
        places(2 * w + k, ia, ib);
        p |= HALF_AT(a, ia) << (16 * k);
        q |= HALF_AT(b, ib) << (16 * k);
      }
    }
    y[w] = word_within(combine(p, q), w, n);
  }
}
