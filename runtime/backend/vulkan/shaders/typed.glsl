// Elements of any dtype of up to 32 bits in buffers of words, read as bits, floats or integers.

uint size_of(uint type) {
  return type <= WICK_TYPE_LAST_32 ? 4 : type <= WICK_TYPE_LAST_16 ? 2 : 1;
}
#define READ_BITS(words, i, size)                                                                \
  ((size) == 4   ? words[i]                                                                      \
   : (size) == 2 ? (words[(i) >> 1] >> (((i) & 1u) * 16u)) & 0xffffu                             \
                 : (words[(i) >> 2] >> (((i) & 3u) * 8u)) & 0xffu)

// log2 of an element's bits.
uint log_bits(uint type) {
  return type <= WICK_TYPE_LAST_32  ? 5
         : type <= WICK_TYPE_LAST_16 ? 4
         : type <= WICK_TYPE_LAST_8  ? 3
         : type <= WICK_TYPE_LAST_4  ? 2
         : type <= WICK_TYPE_LAST_2  ? 1
                                     : 6;
}
// Read elements of up to 32 bits, and of any size: the low word first.
#define READ_PACKED(words, i, log)                                                 \
  ((words[(i) >> (5u - (log))] >> (((i) & ((1u << (5u - (log))) - 1u)) << (log))) & \
   (0xffffffffu >> (32u - (1u << (log)))))
#define READ_ANY(words, i, log) \
  ((log) == 6u ? uvec2(words[2u * (i)], words[2u * (i) + 1u]) : uvec2(READ_PACKED(words, i, min(log, 5u)), 0u))
// One invocation writes all elements of a word, or both words of an element.
uint elements_a_word(uint log) { return log >= 5u ? 1u : 1u << (5u - log); }

bool is_float_type(uint type) {
  return type == WICK_TYPE_F32 || type == WICK_TYPE_F16 || type == WICK_TYPE_BF16;
}

// Uses integers only: subnormals and rounding modes depend on the device.
float half_to_float(uint h) {
  uint e = (h >> 10) & 31u, m = h & 1023u, sign = (h & 0x8000u) << 16;
  if (e == 31u) return uintBitsToFloat(sign | 0x7f800000u | (m << 13));
  if (e == 0u) {
    float v = float(m) * 5.9604644775390625e-8;
    return sign != 0 ? -v : v;
  }
  return uintBitsToFloat(sign | ((e + 112u) << 23) | (m << 13));
}

uint half_of(float f) {  // rounds to nearest, half to even
  uint x = floatBitsToUint(f), sign = (x >> 16) & 0x8000u;
  x &= 0x7fffffffu;
  if (x > 0x7f800000u) return sign | 0x7e00u;
  if (x >= 0x477ff000u) return sign | 0x7c00u;
  if (x < 0x38800000u) {
    if (x <= 0x33000000u) return sign;
    uint shift = 126u - (x >> 23), m = (x & 0x7fffffu) | 0x800000u;
    uint r = m >> shift, rest = m & ((1u << shift) - 1u), tie = 1u << (shift - 1u);
    if (rest > tie || (rest == tie && (r & 1u) != 0)) r += 1u;
    return sign | r;
  }
  x += 0xfffu + ((x >> 13) & 1u);
  return sign | ((x - 0x38000000u) >> 13);
}

uint bfloat_of(float f) {
  uint x = floatBitsToUint(f);
  if ((x & 0x7fffffffu) > 0x7f800000u) return (x >> 16) | 0x40u;
  return (x + 0x7fffu + ((x >> 16) & 1u)) >> 16;
}

int int_of_bits(uint bits, uint type) {
  switch (type) {
    case WICK_TYPE_I16: return int(bits << 16) >> 16;
    case WICK_TYPE_I8: return int(bits << 24) >> 24;
    default: return int(bits);
  }
}

float float_of_bits(uint bits, uint type) {
  switch (type) {
    case WICK_TYPE_F32: return uintBitsToFloat(bits);
    case WICK_TYPE_F16: return half_to_float(bits);
    case WICK_TYPE_BF16: return uintBitsToFloat(bits << 16);
    case WICK_TYPE_U32: return float(bits);
    default: return float(int_of_bits(bits, type));
  }
}

// Converts to the bits of a float dtype.
uint bits_of_float(float v, uint type) {
  switch (type) {
    case WICK_TYPE_F16: return half_of(v);
    case WICK_TYPE_BF16: return bfloat_of(v);
    default: return floatBitsToUint(v);
  }
}
