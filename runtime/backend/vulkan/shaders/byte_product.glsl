// What the products of bytes share: words of four bytes along k, as signed bytes, and what becomes of a sum. Bytes
// of uint8 are turned into signed ones by their highest bit; zero points are given less 128 then, so that
// (a - zero) (b - zero) stays what it is.
#if DOT
#extension GL_EXT_spirv_intrinsics : require
spirv_instruction(extensions = ["SPV_KHR_integer_dot_product"], capabilities = [6019, 6018], id = 4450)
int dot_of(uint a, uint b, spirv_literal int packed_4x8);
int dot4(uint a, uint b) { return dot_of(a, b, 0); }
#else
int dot4(uint a, uint b) {
  int p = int(a), q = int(b);
  return bitfieldExtract(p, 0, 8) * bitfieldExtract(q, 0, 8) + bitfieldExtract(p, 8, 8) * bitfieldExtract(q, 8, 8) +
         bitfieldExtract(p, 16, 8) * bitfieldExtract(q, 16, 8) + (p >> 24) * (q >> 24);
}
#endif

layout(constant_id = 0) const uint kResult = 0;  // WICK_BYTES_TO_

layout(binding = 0) readonly buffer Left { uint left[]; };
layout(binding = 1) readonly buffer Right { uint right[]; };
layout(binding = 2) buffer Out { uint y[]; };
layout(binding = 3) readonly buffer Bias { uint bias[]; };
// A multiplier a channel, then the weight's zero point a channel.
layout(binding = 4) readonly buffer Table { uint table[]; };

// RUN: the scale and zero point of left, which only a run knows; the table has the weight's scales.
#ifdef RUN
layout(binding = 5) readonly buffer RunScale { uint run_scale[]; };
layout(binding = 6) readonly buffer RunZero { uint run_zero[]; };
layout(binding = 7) buffer Fault { uint fault; };
#define ZERO_OF_A_RUN run_zero[0]
#else
#define ZERO_OF_A_RUN bias[0]
#endif

// The zero point of the operand that is no weight. `known`: what lowering says of it.
int zero_of(int known, uint flags) {
  if ((flags & WICK_BYTES_ZERO_OF_A_RUN) == 0) return known;
  uint of = (flags & WICK_BYTES_WEIGHT_LEFT) != 0 ? WICK_BYTES_RIGHT_UNSIGNED : WICK_BYTES_LEFT_UNSIGNED;
  return bitfieldExtract(int(ZERO_OF_A_RUN ^ ((flags & of) != 0 ? 0x80u : 0u)), 0, 8);
}

#include "requantize.glsl"

// Four bytes from byte `at`, which need not begin a word.
#define WORD_AT(words, at)                                                                      \
  (((at) >> 2) >= uint(words.length()) ? 0u                                                     \
   : ((at) & 3u) == 0                  ? words[(at) >> 2]                                       \
                      : (words[(at) >> 2] >> (((at) & 3u) * 8u)) |                              \
                            (((at) >> 2) + 1 < uint(words.length())                             \
                                 ? words[((at) >> 2) + 1] << (32u - ((at) & 3u) * 8u)           \
                                 : 0u))
// Of a word that begins with element k of a sum of `depth`.
uint tail_of(uint word, uint k, uint depth) {
  return k >= depth ? 0u : depth - k >= 4 ? word : word & ((1u << ((depth - k) * 8u)) - 1u);
}

// What a channel's sum is multiplied by, for a float and for a byte: as the CPU has it, a product, a quotient.
#ifdef RUN
float float_multiplier(uint channel) {
  uint s = run_scale[0];  // of an infinite range it is infinite
  if (s == 0 || s > 0x7f800000u) atomicMax(fault, call);
  precise float m = uintBitsToFloat(s) * uintBitsToFloat(table[channel]);
  return m;
}
Real byte_multiplier(uint channel) {
  if (is_scale(run_scale[0])) {
    Real both = product(real_of(run_scale[0]), real_of(table[channel]));
    Real all = quotient(both, real_of(floatBitsToUint(y_scale)));
    if (is_finite(both) && is_finite(all)) return all;
  }
  atomicMax(fault, call);
  return Real(0u, 0);
}
#else
float float_multiplier(uint channel) { return uintBitsToFloat(table[channel]); }
Real byte_multiplier(uint channel) { return real_of(table[channel]); }
#endif

// The bits of a result: a sum, a byte or a float.
uint result_of(int sum, uint channel, bool has_bias, int y_zero, int y_low) {
  if (has_bias) sum += int(bias[channel]);
  if (kResult == WICK_BYTES_TO_SUMS) return uint(sum);
  if (kResult == WICK_BYTES_TO_FLOATS) return floatBitsToUint(float(sum) * float_multiplier(channel));
  return uint(scaled(sum, byte_multiplier(channel), y_low - y_zero, y_low + 255 - y_zero) + y_zero) & 0xffu;
}

// A byte that shares its word with others' bytes.
void store_byte(uint at, uint byte) {
  uint shift = (at & 3u) * 8u;
  atomicAnd(y[at >> 2], ~(0xffu << shift));
  atomicOr(y[at >> 2], byte << shift);
}
