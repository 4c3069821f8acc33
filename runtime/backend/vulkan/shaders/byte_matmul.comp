#version 450
#extension GL_GOOGLE_include_directive : require
#include "constants.inc"
#include "math.glsl"
#include "typed.glsl"

// MatMulInteger; BYTES: QLinearMatMul, 2: with scales that only a run knows. Sums of products of bytes minus their zero
// points, in wrapping int32. An invocation computes one sum, or four neighbouring ones, which form a word of bytes.
layout(local_size_x = WICK_FLAT_SIZE) in;
layout(constant_id = 0) const uint kSignedA = 0;
layout(constant_id = 1) const uint kSignedB = 0;
layout(constant_id = 2) const uint kSignedOut = 0;
layout(constant_id = 3) const uint kZeros = 0;  // which of the zero points are present
layout(constant_id = 4) const uint kByWords = 0;  // four neighbouring columns share a word of b
#if BYTES == 2
layout(constant_id = 5) const uint kScales = 0;  // 1: b has a scale per column; 2: a zero point per column
#endif

// A stride is 0 where broadcast.
layout(push_constant) uniform Push {
  uint n, rows, columns, depth;
  uint a_row, a_step, b_step, b_column, zero_a_row, zero_b_column;
  uint batch_dims[4];
  uint a_batch[4];
  uint b_batch[4];
  uint zero_a_batch[4];
  uint zero_b_batch[4];
#if BYTES == 2
  uint call;
#endif
};
layout(binding = 0) readonly buffer A { uint a[]; };
layout(binding = 1) readonly buffer B { uint b[]; };
#if BYTES == 2
layout(binding = 2) readonly buffer ScaleA { uint a_scale[]; };
layout(binding = 3) readonly buffer ZeroA { uint zero_a[]; };
layout(binding = 4) readonly buffer ScaleB { uint b_scale[]; };
layout(binding = 5) readonly buffer ZeroB { uint zero_b[]; };
layout(binding = 6) readonly buffer ScaleY { uint y_scale[]; };
layout(binding = 7) readonly buffer ZeroY { uint zero_y[]; };
layout(binding = 8) writeonly buffer Out { uint y[]; };
layout(binding = 9) buffer Fault { uint fault; };
#include "requantize.glsl"
#elif BYTES == 1
// a's zero point, y's, a multiplier per column, b's zero point per column.
layout(binding = 2) readonly buffer Table { uint table[]; };
layout(binding = 3) writeonly buffer Out { uint y[]; };
#include "requantize.glsl"
#else
layout(binding = 2) readonly buffer ZeroA { uint zero_a[]; };
layout(binding = 3) readonly buffer ZeroB { uint zero_b[]; };
layout(binding = 4) writeonly buffer Out { uint y[]; };
#endif

const uint kTypeA = kSignedA != 0 ? WICK_TYPE_I8 : WICK_TYPE_U8;
const uint kTypeB = kSignedB != 0 ? WICK_TYPE_I8 : WICK_TYPE_U8;
#define BYTE_AT(words, i, type) int_of_bits(READ_BITS(words, i, 1), type)

struct Place { uint row, column, a, b, zero_a, zero_b; };
Place place_of(uint i) {
  uint line = i / columns, batch = line / rows;
  Place p = Place(line % rows, i % columns, 0u, 0u, 0u, 0u);
  for (int d = 3; d >= 0; --d) {
    uint at = batch % batch_dims[d];
    batch /= batch_dims[d];
    p.a += at * a_batch[d];
    p.b += at * b_batch[d];
    p.zero_a += at * zero_a_batch[d];
    p.zero_b += at * zero_b_batch[d];
  }
  p.a += p.row * a_row;
  p.b += p.column * b_column;
  p.zero_a += p.row * zero_a_row;
  p.zero_b += p.column * zero_b_column;
  return p;
}
#if BYTES == 2
int a_zero_of(Place p) { return BYTE_AT(zero_a, 0, kTypeA); }
int b_zero_of(Place p) { return BYTE_AT(zero_b, (kScales & 2u) != 0 ? p.column : 0, kTypeB); }
int y_zero() { return BYTE_AT(zero_y, 0, kSignedOut != 0 ? WICK_TYPE_I8 : WICK_TYPE_U8); }
// Like the CPU: a product and a quotient, each rounded to float.
Real multiplier(uint column) {
  uint of_a = a_scale[0], of_b = b_scale[(kScales & 1u) != 0 ? column : 0], of_y = y_scale[0];
  if (is_scale(of_a) && is_scale(of_b) && is_scale(of_y)) {
    Real both = product(real_of(of_a), real_of(of_b)), all = quotient(both, real_of(of_y));
    if (is_finite(both) && is_finite(all)) return all;
  }
  atomicMax(fault, call);
  return Real(0u, 0);
}
#elif BYTES == 1
int y_zero() { return int(table[1]); }
Real multiplier(uint column) { return real_of(table[2 + column]); }
int a_zero_of(Place p) { return int(table[0]); }
int b_zero_of(Place p) { return int(table[2 + columns + p.column]); }
#else
int a_zero_of(Place p) { return (kZeros & 1u) != 0 ? BYTE_AT(zero_a, p.zero_a, kTypeA) : 0; }
int b_zero_of(Place p) { return (kZeros & 2u) != 0 ? BYTE_AT(zero_b, p.zero_b, kTypeB) : 0; }
#endif

int sum_at(Place p) {
  int az = a_zero_of(p), bz = b_zero_of(p), sum = 0;
  for (uint k = 0; k < depth; ++k) {
    sum += (BYTE_AT(a, p.a + k * a_step, kTypeA) - az) * (BYTE_AT(b, p.b + k * b_step, kTypeB) - bz);
  }
  return sum;
}

// Returns the sums of column p.column, the first of a word, and the next three.
ivec4 sums_at(Place p) {
  ivec4 bz, sum = ivec4(0);
  Place next = p;
  for (uint j = 0; j < 4; ++j) {
    bz[j] = b_zero_of(next);
    ++next.column;
    next.zero_b += zero_b_column;
  }
  int az = a_zero_of(p);
  for (uint k = 0; k < depth; ++k) {
    uint word = b[(p.b + k * b_step) / 4];
    ivec4 four = ivec4(int_of_bits(word & 0xffu, kTypeB), int_of_bits((word >> 8) & 0xffu, kTypeB),
                       int_of_bits((word >> 16) & 0xffu, kTypeB), int_of_bits(word >> 24, kTypeB));
    sum += (BYTE_AT(a, p.a + k * a_step, kTypeA) - az) * (four - bz);
  }
  return sum;
}

#if BYTES
uint byte_of(int sum, uint column) {
  int zero = y_zero(), low = kSignedOut != 0 ? -128 : 0;
  return uint(scaled(sum, multiplier(column), low - zero, low + 255 - zero) + zero) & 0xffu;
}
#endif

void main() {
  const uint kEach = BYTES != 0 || kByWords != 0 ? 4 : 1;
  for (uint w = gl_GlobalInvocationID.x; w < (n + kEach - 1) / kEach; w += gl_NumWorkGroups.x * WICK_FLAT_SIZE) {
    ivec4 sums = ivec4(0);
    uint first = w * kEach, word = 0;
    if (kByWords != 0) {
      sums = sums_at(place_of(first));
    } else {
      for (uint j = 0; j < kEach && first + j < n; ++j) sums[j] = sum_at(place_of(first + j));
    }
    for (uint j = 0; j < kEach && first + j < n; ++j) {
#if BYTES
      word |= byte_of(sums[j], (first + j) % columns) << (8 * j);
#else
      y[first + j] = uint(sums[j]);
#endif
    }
#if BYTES
    y[w] = word;
#endif
  }
}
