// Float64 in integer arithmetic, for devices with and without the type alike: numbers of 64 digits with any exponent,
// which are rounded once to float64 or to any other float type. Sums, products, quotients and roots are those of IEEE
// 754; double_math.glsl has the functions built on them.
#ifndef WICK_SOFT_DOUBLE
#define WICK_SOFT_DOUBLE
#include "words.glsl"

const uint kZero = 0, kFinite = 1, kInfinite = 2, kNaN = 3;
// The value m 2^(e - 63), where m's highest bit is set.
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

// From a sign, an exponent and `digits` bits; exponent 0 is subnormal.
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

// Returns m without its `drop` lowest bits, rounded half to even.
uvec2 without(uvec2 m, int drop) {
  if (drop <= 0) return m;
  if (drop > 64) return uvec2(0);
  uvec2 kept = shift_right(m, drop), last = shift_right(m, drop - 1);
  bool rest = shift_left(m, 65 - drop) != uvec2(0);
  bool up = (last.x & 1u) != 0 && (rest || (kept.x & 1u) != 0);
  return up ? add_64(kept, uvec2(1, 0)) : kept;
}
// Rounds to the digits of a double.
Number to_53_digits(Number v) {
  if (v.kind != kFinite) return v;
  uvec2 m = without(v.m, 11);
  if ((m.y >> 21) != 0) return Number(kFinite, v.negative, v.e + 1, uvec2(0, 0x80000000u));
  return Number(kFinite, v.negative, v.e, shift_left(m, 11));
}

// Exponent and digits of a finite number's magnitude; a number that is too large gets too large an exponent.
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

Number number_of_double(uvec2 bits) { return ieee_number(bits, 52, 64, 1023); }
uvec2 double_of(Number v) { return to_ieee(v, 52, 64, 1023); }

bool is_less_magnitude(Number a, Number b) { return a.e < b.e || (a.e == b.e && less_64(a.m, b.m)); }

// Not rounded, except that the last digit records whether anything is below it.
Number plus(Number a, Number b) {
  if (a.kind == kNaN || b.kind == kNaN || (a.kind == kInfinite && b.kind == kInfinite && a.negative != b.negative))
    return Number(kNaN, false, 0, uvec2(0));
  if (a.kind == kInfinite || b.kind == kInfinite) {
    if (a.kind == kInfinite) return a;
    return b;
  }
  if (a.kind == kZero && b.kind == kZero) return Number(kZero, a.negative && b.negative, 0, uvec2(0));
  if (b.kind == kZero) return a;
  if (a.kind == kZero) return b;
  if (is_less_magnitude(a, b)) {
    Number c = a;
    a = b;
    b = c;
  }
  // Leaves space for one digit above; the eleven below the 53 are 0.
  int apart = a.e - b.e + 1;
  uvec2 left = shift_right(a.m, 1), right = shift_right(b.m, apart);
  if (shift_left(right, apart) != b.m || apart >= 64) right.x |= 1u;
  uvec2 sum = add_64(left, a.negative == b.negative ? right : negate_64(right));
  if (sum == uvec2(0)) return Number(kZero, false, 0, uvec2(0));
  return finite(a.negative, sum, a.e - 62);
}

Number negated(Number a) {
  a.negative = !a.negative;
  return a;
}

Number times(Number a, Number b) {
  bool negative = a.negative != b.negative;
  if (a.kind == kNaN || b.kind == kNaN || (a.kind == kInfinite && b.kind == kZero) ||
      (a.kind == kZero && b.kind == kInfinite))
    return Number(kNaN, false, 0, uvec2(0));
  if (a.kind == kInfinite || b.kind == kInfinite) return Number(kInfinite, negative, 0, uvec2(0));
  if (a.kind == kZero || b.kind == kZero) return Number(kZero, negative, 0, uvec2(0));
  uint high, low, high_1, low_1, high_2, low_2, high_3, low_3, carry;
  umulExtended(a.m.x, b.m.x, high, low);
  umulExtended(a.m.x, b.m.y, high_1, low_1);
  umulExtended(a.m.y, b.m.x, high_2, low_2);
  umulExtended(a.m.y, b.m.y, high_3, low_3);
  uvec2 middle = add_64(uvec2(high, 0), add_64(uvec2(low_1, 0), uvec2(low_2, 0)));
  uvec2 top = add_64(uvec2(low_3, high_3), add_64(uvec2(high_1, 0), add_64(uvec2(high_2, 0), uvec2(middle.y, 0))));
  if ((low | middle.x) != 0) top.x |= 1u;
  return finite(negative, top, a.e + b.e - 62);
}

// A quotient that rounds correctly: 64 digits, the last of which records whether there is a remainder.
Number divide(Number v, Number s) {
  bool negative = v.negative != s.negative;
  if (v.kind == kNaN || s.kind == kNaN || (v.kind == kZero && s.kind == kZero) ||
      (v.kind == kInfinite && s.kind == kInfinite))
    return Number(kNaN, false, 0, uvec2(0));
  if (v.kind == kInfinite || s.kind == kZero) return Number(kInfinite, negative, 0, uvec2(0));
  if (v.kind == kZero || s.kind == kInfinite) return Number(kZero, negative, 0, uvec2(0));
  uvec2 rest = v.m, q = uvec2(0);
  int e = v.e - s.e;
  bool over = false;  // a 65th digit of the remainder
  if (less_64(rest, s.m)) {
    e -= 1;
    over = true;
    rest = shift_left(rest, 1);
  }
  const uvec2 minus = negate_64(s.m);
  for (int i = 0; i < 64; ++i) {
    bool take = over || !less_64(rest, s.m);
    if (take) rest = add_64(rest, minus);
    q = shift_left(q, 1) | uvec2(take ? 1u : 0u, 0);
    over = (rest.y >> 31) != 0;
    rest = shift_left(rest, 1);
  }
  if (over || rest != uvec2(0)) q.x |= 1u;
  return Number(kFinite, negative, e, q);
}

// The square root, digit by digit: 55 digits, and whether there is a remainder.
Number root(Number v) {
  if (v.kind == kNaN || v.kind == kZero || (v.kind == kInfinite && !v.negative)) return v;
  if (v.negative) return Number(kNaN, false, 0, uvec2(0));
  bool odd = (v.e & 1) != 0;
  uvec2 digits = odd ? v.m : shift_right(v.m, 1);  // the last of 64 is 0
  uvec2 result = uvec2(0), rest = uvec2(0);
  for (int i = 0; i < 55; ++i) {
    rest = shift_left(rest, 2) | uvec2(digits.y >> 30, 0);
    digits = shift_left(digits, 2);
    uvec2 trial = shift_left(result, 2) | uvec2(1, 0);
    result = shift_left(result, 1);
    if (!less_64(rest, trial)) {
      rest = add_64(rest, negate_64(trial));
      result.x |= 1u;
    }
  }
  result = shift_left(result, 1);
  if (rest != uvec2(0)) result.x |= 1u;
  return finite(false, result, ((odd ? v.e - 1 : v.e) >> 1) - 55);
}

#endif
