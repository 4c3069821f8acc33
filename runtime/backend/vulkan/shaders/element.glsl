// Elements of any dtype of up to 64 bits, each as a pair of words, low first. The including shader defines the
// specialisation constants kType and kWide (0, or the meaning of 64 bits) and calls the buffer that it writes `y`.
#include "soft_double.glsl"
#include "typed.glsl"

uint element_size() { return kWide != 0 ? 8 : size_of(kType); }
#define LOAD(words, i)                                       \
  (kWide != 0 ? uvec2(words[2 * (i)], words[2 * (i) + 1]) \
              : uvec2(READ_BITS(words, i, size_of(kType)), 0u))

// Smaller elements share a word with elements that other invocations store.
#define STORE_ELEMENT(words, i, v)                                    \
  if (kWide != 0) {                                                   \
    words[2 * (i)] = (v).x;                                           \
    words[2 * (i) + 1] = (v).y;                                       \
  } else if (size_of(kType) == 4) {                                   \
    words[i] = (v).x;                                                 \
  } else {                                                            \
    uint bits_ = 8 * size_of(kType), per_ = 32 / bits_;               \
    uint shift_ = ((i) % per_) * bits_;                               \
    atomicAnd(words[(i) / per_], ~(((1u << bits_) - 1u) << shift_)); \
    atomicOr(words[(i) / per_], (v).x << shift_);                     \
  }

uint cut(uint v) {
  uint size = size_of(kType);
  return size == 4 ? v : size == 2 ? v & 0xffffu : v & 0xffu;
}

// Returns the sum or product. Integers wrap; bools: or, and. One function for both, or float64 would be unpacked twice
// at every call.
uvec2 sum_or_product(uvec2 a, uvec2 b, bool product) {
  if (kWide == WICK_WIDE_F64) {
    Number p = number_of_double(a), q = number_of_double(b), r;
    if (product) {
      r = times(p, q);
    } else {
      r = plus(p, q);
    }
    return double_of(r);
  }
  if (kWide != 0) return product ? multiply_64(a, b) : add_64(a, b);
  if (kType == WICK_TYPE_BOOL) return product ? a & b : a | b;
  if (!is_float_type(kType)) return uvec2(cut(product ? a.x * b.x : a.x + b.x), 0u);
  float p = float_of_bits(a.x, kType), q = float_of_bits(b.x, kType);
  return uvec2(bits_of_float(product ? p * q : p + q, kType), 0u);
}

// Returns numbers with the order of the elements, -0 below +0, every NaN at one end.
uvec2 key_of(uvec2 v, bool nan_above) {
  const uint kSign = 0x80000000u;
  const uvec2 end = nan_above ? uvec2(0xffffffffu) : uvec2(0u);
  switch (kWide) {
    case WICK_WIDE_I64: return uvec2(v.x, v.y ^ kSign);
    case WICK_WIDE_F64:
      if (is_nan_64(v)) return end;
      return (v.y & kSign) != 0 ? ~v : uvec2(v.x, v.y | kSign);
    case WICK_WIDE_NONE: break;
    default: return v;
  }
  if (is_float_type(kType)) {
    uint bits = floatBitsToUint(float_of_bits(v.x, kType));
    if ((bits & ~kSign) > 0x7f800000u) return end;
    return uvec2((bits & kSign) != 0 ? ~bits : bits | kSign, 0u);
  }
  return uvec2(kType == WICK_TYPE_U32 ? v.x : uint(int_of_bits(v.x, kType)) ^ kSign, 0u);
}
bool above(uvec2 a, uvec2 b) { return less_64(b, a); }
