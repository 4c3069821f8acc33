// Shared by the products of bytes: words of four bytes along k, as signed bytes, and the conversion of a sum. uint8 is
// converted to signed bytes by flipping the highest bit, and its zero points are passed minus 128, so that (a - zero)
// (b - zero) does not change.
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
// A multiplier per channel, followed by the weight's zero point per channel.
layout(binding = 4) readonly buffer Table { uint table[]; };

// RUN: left's scale and zero point, which are known only in a run; the table then has the weight's scales.
#ifdef RUN
layout(binding = 5) readonly buffer RunScale { uint run_scale[]; };
layout(binding = 6) readonly buffer RunZero { uint run_zero[]; };
layout(binding = 7) buffer Fault { uint fault; };
#define ZERO_OF_A_RUN run_zero[0]
#else
#define ZERO_OF_A_RUN bias[0]
#endif

// Returns the zero point of the operand that is not the weight. `known`: its value if lowering knew it.
int zero_of(int known, uint flags) {
  if ((flags & WICK_BYTES_ZERO_OF_A_RUN) == 0) return known;
  uint of = (flags & WICK_BYTES_WEIGHT_LEFT) != 0 ? WICK_BYTES_RIGHT_UNSIGNED : WICK_BYTES_LEFT_UNSIGNED;
  return bitfieldExtract(int(ZERO_OF_A_RUN ^ ((flags & of) != 0 ? 0x80u : 0u)), 0, 8);
}

#include "requantize.glsl"

// Reads four bytes from byte `at`, which need not be aligned.
#define WORD_AT(words, at)                                                                      \
  (((at) >> 2) >= uint(words.length()) ? 0u                                                     \
   : ((at) & 3u) == 0                  ? words[(at) >> 2]                                       \
                      : (words[(at) >> 2] >> (((at) & 3u) * 8u)) |                              \
                            (((at) >> 2) + 1 < uint(words.length())                             \
                                 ? words[((at) >> 2) + 1] << (32u - ((at) & 3u) * 8u)           \
                                 : 0u))
// Masks a word that begins with element k of a sum of `depth`.
uint tail_of(uint word, uint k, uint depth) {
  return k >= depth ? 0u : depth - k >= 4 ? word : word & ((1u << ((depth - k) * 8u)) - 1u);
}

// The multipliers of a channel's sum, for a float and for a byte. Like the CPU: a product and a quotient.
#ifdef RUN
float float_multiplier(uint channel) {
  uint s = run_scale[0];  // infinite if the range is
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

// Returns the bits of a result: a sum, a byte or a float.
uint result_of(int sum, uint channel, bool has_bias, int y_zero, int y_low) {
  if (has_bias) sum += int(bias[channel]);
  if (kResult == WICK_BYTES_TO_SUMS) return uint(sum);
  if (kResult == WICK_BYTES_TO_FLOATS) return floatBitsToUint(float(sum) * float_multiplier(channel));
  return uint(scaled(sum, byte_multiplier(channel), y_low - y_zero, y_low + 255 - y_zero) + y_zero) & 0xffu;
}

// Stores a byte that shares its word with bytes of other invocations.
void store_byte(uint at, uint byte) {
  uint shift = (at & 3u) * 8u;
  atomicAnd(y[at >> 2], ~(0xffu << shift));
  atomicOr(y[at >> 2], byte << shift);
}
