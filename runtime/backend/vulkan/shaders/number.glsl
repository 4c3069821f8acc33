// Any element as a number of 64 digits, and back with one rounding: integers throughout, so that the result is the
// same on every device and float64 needs no support.

uvec2 shift_left(uvec2 a, int n) {
  if (n <= 0) return a;
  if (n >= 64) return uvec2(0);
  return n >= 32 ? uvec2(0, a.x << (n - 32)) : uvec2(a.x << n, (a.y << n) | (a.x >> (32 - n)));
}
uvec2 shift_right(uvec2 a, int n) {
  if (n <= 0) return a;
  if (n >= 64) return uvec2(0);
  return n >= 32 ? uvec2(a.y >> (n - 32), 0) : uvec2((a.x >> n) | (a.y << (32 - n)), a.y >> n);
}
uvec2 add_64(uvec2 a, uvec2 b) {
  uint carry, low = uaddCarry(a.x, b.x, carry);
  return uvec2(low, a.y + b.y + carry);
}
uvec2 negate_64(uvec2 a) { return add_64(uvec2(~a.x, ~a.y), uvec2(1, 0)); }
bool less_64(uvec2 a, uvec2 b) { return a.y < b.y || (a.y == b.y && a.x < b.x); }

const uint kZero = 0, kFinite = 1, kInfinite = 2, kNaN = 3;
// m 2^(e - 63), where m's highest bit is set.
struct Number {
  uint kind;
  bool negative;
  int e;
  uvec2 m;
};

Number finite(bool negative, uvec2 m, int scale) {  // m 2^scale
  if ((m.x | m.y) == 0) return Number(kZero, negative, 0, m);
  int shift = m.y != 0 ? 31 - findMSB(m.y) : 63 - findMSB(m.x);
  return Number(kFinite, negative, scale + 63 - shift, shift_left(m, shift));
}

// Of sign, exponent and `digits` bits; exponent 0 is subnormal.
Number small_number(bool negative, uvec2 magnitude, int digits, int bias) {
  int exponent = int(shift_right(magnitude, digits).x);
  uvec2 whole = uvec2(magnitude.x, magnitude.y);
  uvec2 one = shift_left(uvec2(1, 0), digits);
  uvec2 below = add_64(one, uvec2(0xffffffffu));
  whole &= below;
  if (exponent != 0) whole |= one;
  return finite(negative, whole, max(exponent, 1) - bias - digits);
}
Number ieee_number(uvec2 bits, int digits, int width, int bias) {
  bool negative = (shift_right(bits, width - 1).x & 1u) != 0;
  uvec2 magnitude = bits & add_64(shift_left(uvec2(1, 0), width - 1), uvec2(0xffffffffu));
  uvec2 infinity = shift_left(uvec2((1u << (width - 1 - digits)) - 1u, 0), digits);
  if (magnitude == infinity) return Number(kInfinite, negative, 0, uvec2(0));
  if (less_64(infinity, magnitude)) return Number(kNaN, negative, 0, uvec2(0));
  return small_number(negative, magnitude, digits, bias);
}

Number integer_number(uvec2 v, bool is_signed) {
  bool negative = is_signed && (v.y & 0x80000000u) != 0;
  return finite(negative, negative ? negate_64(v) : v, 0);
}

bool is_signed_type(uint type) {
  return type == WICK_TYPE_I32 || type == WICK_TYPE_I16 || type == WICK_TYPE_I8 || type == WICK_TYPE_I4 ||
         type == WICK_TYPE_I2 || type == WICK_TYPE_I64;
}
bool is_real_type(uint type) {
  return is_float_type(type) || type == WICK_TYPE_F64 || type == WICK_TYPE_F4E2M1 ||
         (type >= WICK_TYPE_F8E4M3FN && type <= WICK_TYPE_F8E8M0);
}

// An integer's 64 bits.
uvec2 widened(uvec2 bits, uint type) {
  uint width = 1u << log_bits(type);
  if (width == 64u || !is_signed_type(type)) return bits;
  int low = int(bits.x << (32u - width)) >> (32u - width);
  return uvec2(uint(low), uint(low >> 31));
}

Number number_of(uvec2 bits, uint type) {
  uint b = bits.x;
  switch (type) {
    case WICK_TYPE_F32: return ieee_number(bits, 23, 32, 127);
    case WICK_TYPE_F64: return ieee_number(bits, 52, 64, 1023);
    case WICK_TYPE_F16: return ieee_number(bits, 10, 16, 15);
    case WICK_TYPE_BF16: return ieee_number(bits, 7, 16, 127);
    case WICK_TYPE_F8E5M2: return ieee_number(bits, 2, 8, 15);
    case WICK_TYPE_F8E4M3FN:
      if ((b & 0x7fu) == 0x7fu) return Number(kNaN, (b & 0x80u) != 0, 0, uvec2(0));
      return small_number((b & 0x80u) != 0, uvec2(b & 0x7fu, 0), 3, 7);
    case WICK_TYPE_F8E4M3FNUZ:
      if (b == 0x80u) return Number(kNaN, false, 0, uvec2(0));
      return small_number((b & 0x80u) != 0, uvec2(b & 0x7fu, 0), 3, 8);
    case WICK_TYPE_F8E5M2FNUZ:
      if (b == 0x80u) return Number(kNaN, false, 0, uvec2(0));
      return small_number((b & 0x80u) != 0, uvec2(b & 0x7fu, 0), 2, 16);
    case WICK_TYPE_F4E2M1: return small_number((b & 8u) != 0, uvec2(b & 7u, 0), 1, 1);
    case WICK_TYPE_F8E8M0:
      if (b == 0xffu) return Number(kNaN, false, 0, uvec2(0));
      return finite(false, uvec2(1, 0), int(b) - 127);
    default: return integer_number(widened(bits, type), is_signed_type(type));
  }
}

// m without its `drop` lowest bits, half to even.
uvec2 without(uvec2 m, int drop) {
  if (drop <= 0) return m;
  if (drop > 64) return uvec2(0);
  uvec2 kept = shift_right(m, drop), last = shift_right(m, drop - 1);
  bool rest = shift_left(m, 65 - drop) != uvec2(0);
  bool up = (last.x & 1u) != 0 && (rest || (kept.x & 1u) != 0);
  return up ? add_64(kept, uvec2(1, 0)) : kept;
}
// The digits of a double.
Number to_53_digits(Number v) {
  if (v.kind != kFinite) return v;
  uvec2 m = without(v.m, 11);
  if ((m.y >> 21) != 0) return Number(kFinite, v.negative, v.e + 1, uvec2(0, 0x80000000u));
  return Number(kFinite, v.negative, v.e, shift_left(m, 11));
}

// Exponent and digits of a finite number's magnitude; what is too large has too large an exponent.
uvec2 magnitude_of(Number v, int digits, int bias) {
  int least = 1 - bias, below = max(least - v.e, 0);
  uvec2 code = without(v.m, 63 - digits + below);
  return below != 0 ? code : add_64(code, shift_left(uvec2(uint(v.e - least), 0), digits));
}

uvec2 to_ieee(Number v, int digits, int width, int bias) {
  uvec2 infinity = shift_left(uvec2((1u << (width - 1 - digits)) - 1u, 0), digits), code = uvec2(0);
  if (v.kind == kInfinite) code = infinity;
  if (v.kind == kNaN) code = add_64(infinity, shift_left(uvec2(1, 0), digits - 1));
  if (v.kind == kFinite) {
    code = v.e > bias ? infinity : magnitude_of(v, digits, bias);
    if (less_64(infinity, code)) code = infinity;
  }
  return v.negative ? code | shift_left(uvec2(1, 0), width - 1) : code;
}

// As core/narrow.h's float_to_narrow; infinity 0: none, nan with the sign's bit: it has no sign, nor has zero.
uint to_narrow(Number v, int digits, int bias, uint sign_bit, uint largest, uint infinity, uint nan, bool saturate,
               bool signed_zero) {
  uint sign = v.negative ? sign_bit : 0u, nan_code = nan == sign_bit ? nan : nan | sign;
  if (v.kind == kNaN) return nan_code;
  uint code = 0;
  if (v.kind == kInfinite) code = 0xffffffffu;
  if (v.kind == kFinite) code = v.e > 128 ? 0xffffffffu : magnitude_of(v, digits, bias).x;
  if (code > largest) {
    if (!saturate) return infinity != 0 ? infinity | sign : nan_code;
    code = largest;
  }
  return code == 0 && !signed_zero ? 0u : code | sign;
}

// To a power of two: the next above |v| (0), below (1), the nearer, half up (2).
uint to_e8m0(Number v, bool saturate, uint round_mode) {
  if (v.kind == kNaN) return 0xffu;
  int code = v.kind == kZero ? -1 : v.kind == kInfinite ? 0xff : v.e + 127;
  if (v.kind == kFinite) {
    bool digits = (v.m.x | (v.m.y & 0x7fffffffu)) != 0, half_or_more = (v.m.y & 0x40000000u) != 0;
    if ((round_mode == 0 && digits) || (round_mode == 2 && half_or_more)) code += 1;
  }
  if (code < 0) return saturate ? 0u : 0xffu;
  if (code > 0xfe) return saturate ? 0xfeu : 0xffu;
  return uint(code);
}

// Towards zero, saturating, NaN is 0.
uvec2 to_integer(Number v, uint type) {
  int width = int(1u << log_bits(type));
  bool is_signed = is_signed_type(type);
  if (v.kind == kNaN || v.kind == kZero || (v.negative && !is_signed)) return uvec2(0);
  uvec2 top = shift_left(uvec2(1, 0), is_signed ? width - 1 : width);  // 0 for 64 bits without a sign
  uvec2 limit = v.negative ? top : add_64(top, uvec2(0xffffffffu));
  uvec2 whole = v.kind == kInfinite || v.e > 63 ? uvec2(0xffffffffu) : v.e < 0 ? uvec2(0) : shift_right(v.m, 63 - v.e);
  if (less_64(limit, whole)) whole = limit;
  return v.negative ? negate_64(whole) : whole;
}
// The low bits of the nearest integer, half to even; 0 where they are all 0 or there are none.
uint low_bits_of(Number v) {
  if (v.kind != kFinite || v.e >= 62 || v.e < -1) return 0;
  uint whole = without(v.m, 63 - v.e).x;
  return v.negative ? 0u - whole : whole;
}

uvec2 bits_of_number(Number v, uint type, bool saturate, uint round_mode) {
  switch (type) {
    case WICK_TYPE_F32: return to_ieee(v, 23, 32, 127);
    case WICK_TYPE_F64: return to_ieee(v, 52, 64, 1023);
    case WICK_TYPE_F16: return to_ieee(v, 10, 16, 15);
    case WICK_TYPE_BF16: return to_ieee(v, 7, 16, 127);
    case WICK_TYPE_F8E4M3FN: return uvec2(to_narrow(v, 3, 7, 0x80u, 0x7eu, 0u, 0x7fu, saturate, true), 0);
    case WICK_TYPE_F8E4M3FNUZ: return uvec2(to_narrow(v, 3, 8, 0x80u, 0x7fu, 0u, 0x80u, saturate, false), 0);
    case WICK_TYPE_F8E5M2: return uvec2(to_narrow(v, 2, 15, 0x80u, 0x7bu, 0x7cu, 0x7eu, saturate, true), 0);
    case WICK_TYPE_F8E5M2FNUZ: return uvec2(to_narrow(v, 2, 16, 0x80u, 0x7fu, 0u, 0x80u, saturate, false), 0);
    case WICK_TYPE_F4E2M1: return uvec2(to_narrow(v, 1, 1, 8u, 7u, 0u, 8u, true, true), 0);
    case WICK_TYPE_F8E8M0: return uvec2(to_e8m0(v, saturate, round_mode), 0);
    case WICK_TYPE_U4:
    case WICK_TYPE_I4: return uvec2(low_bits_of(v) & 15u, 0);
    case WICK_TYPE_U2:
    case WICK_TYPE_I2: return uvec2(low_bits_of(v) & 3u, 0);
    case WICK_TYPE_BOOL: return uvec2(v.kind != kZero ? 1u : 0u, 0);
    default: return to_integer(v, type);
  }
}

// One of a float type, rounded to another and given as a float32: the type has no more digits than that.
Number rounded_to(Number v, uint type) {
  return type == WICK_TYPE_F64 ? v : number_of(bits_of_number(v, type, false, 0), type);
}
