// Functions of float64 on the numbers of soft_double.glsl: e^x and the logarithm are within two units, all others equal
// the CPU's. Between two steps a number has 53 digits and any exponent.
#include "soft_double.glsl"

Number plus_53(Number a, Number b) { return to_53_digits(plus(a, b)); }
Number times_53(Number a, Number b) { return to_53_digits(times(a, b)); }

// NaN takes precedence.
uvec2 extreme_double(uvec2 p, uvec2 q, bool largest) {
  if (is_nan_64(p) || is_nan_64(q)) {
    if (is_nan_64(p)) return p;
    return q;
  }
  if (order_of(p) == order_of(q)) return largest ? p & q : p | q;  // +0 above -0
  return less_64(order_of(p), order_of(q)) == largest ? q : p;
}

// Rounds to an integer: half to even (0), towards zero (1).
Number whole_of(Number v, uint mode) {
  if (v.kind != kFinite || v.e >= 63) return v;
  uvec2 m = v.e < -1 ? uvec2(0) : mode == 0 ? without(v.m, 63 - v.e) : shift_right(v.m, 63 - v.e);
  return m == uvec2(0) ? Number(kZero, v.negative, 0, m) : finite(v.negative, m, 0);
}
bool is_whole(Number v) {
  return v.kind != kFinite || v.e >= 63 || (v.e >= 0 && shift_left(v.m, v.e + 1) == uvec2(0));
}
Number floor_or_ceil(Number v, bool up) {
  Number whole = whole_of(v, 1);
  if (is_whole(v) || v.negative == up) return whole;
  return plus(whole, finite(!up, uvec2(1, 0), 0));
}

const uvec2 kExpTerms[14] = uvec2[14](
    uvec2(0x13a86d09u, 0x3de61246u),
    uvec2(0xeff8d898u, 0x3e21eed8u),
    uvec2(0x67f544e4u, 0x3e5ae645u),
    uvec2(0xb7789f5cu, 0x3e927e4fu),
    uvec2(0xa556c734u, 0x3ec71de3u),
    uvec2(0x1a01a01au, 0x3efa01a0u),
    uvec2(0x1a01a01au, 0x3f2a01a0u),
    uvec2(0x16c16c17u, 0x3f56c16cu),
    uvec2(0x11111111u, 0x3f811111u),
    uvec2(0x55555555u, 0x3fa55555u),
    uvec2(0x55555555u, 0x3fc55555u),
    uvec2(0x00000000u, 0x3fe00000u),
    uvec2(0x00000000u, 0x3ff00000u),
    uvec2(0x00000000u, 0x3ff00000u));
const uvec2 kLogTerms[12] = uvec2[12](
    uvec2(0x590b2164u, 0x3fa642c8u),
    uvec2(0x18618618u, 0x3fa86186u),
    uvec2(0xbca1af28u, 0x3faaf286u),
    uvec2(0x1e1e1e1eu, 0x3fae1e1eu),
    uvec2(0x11111111u, 0x3fb11111u),
    uvec2(0x13b13b14u, 0x3fb3b13bu),
    uvec2(0x745d1746u, 0x3fb745d1u),
    uvec2(0x1c71c71cu, 0x3fbc71c7u),
    uvec2(0x92492492u, 0x3fc24924u),
    uvec2(0x9999999au, 0x3fc99999u),
    uvec2(0x55555555u, 0x3fd55555u),
    uvec2(0x00000000u, 0x3ff00000u));

// 32 digits of ln 2, whose product with an exponent is exact, and the next 53.
const uvec2 kWideLn2High = uvec2(0xfee00000u, 0x3fe62e42u), kWideLn2Rest = uvec2(0x35793c76u, 0x3dea39efu), kWideLog2E = uvec2(0x652b82feu, 0x3ff71547u);

Number exponential(Number x) {
  if (x.kind == kNaN) return x;
  if (x.kind == kInfinite || (x.kind == kFinite && x.e >= 11)) {
    if (x.negative) return Number(kZero, false, 0, uvec2(0));
    return Number(kInfinite, false, 0, uvec2(0));
  }
  Number n = whole_of(times_53(x, number_of_double(kWideLog2E)), 0);
  Number r = plus_53(x, negated(times_53(n, number_of_double(kWideLn2High))));
  r = plus_53(r, negated(times_53(n, number_of_double(kWideLn2Rest))));
  Number p = number_of_double(kExpTerms[0]);
  for (int i = 1; i < 14; ++i) p = plus_53(times_53(p, r), number_of_double(kExpTerms[i]));
  int k = n.kind == kZero ? 0 : int(shift_right(n.m, 63 - n.e).x);
  p.e += n.negative ? -k : k;
  return p;
}

Number logarithm(Number x) {
  if (x.kind == kNaN) return x;
  if (x.kind == kZero) return Number(kInfinite, true, 0, uvec2(0));
  if (x.negative) return Number(kNaN, false, 0, uvec2(0));
  if (x.kind == kInfinite) return x;
  int k = x.e;
  x.e = 0;
  if (x.m.y > 0xb504f333u) {  // above sqrt(2)
    x.e = -1;
    k += 1;
  }
  const Number one = finite(false, uvec2(1, 0), 0), two = finite(false, uvec2(2, 0), 0);
  Number f = plus_53(x, negated(one)), s = to_53_digits(divide(f, plus_53(f, two))), z = times_53(s, s);
  Number p = number_of_double(kLogTerms[0]);
  for (int i = 1; i < 12; ++i) p = plus_53(times_53(p, z), number_of_double(kLogTerms[i]));
  p = times_53(times_53(s, two), p);
  if (k == 0) return p;
  Number n = finite(k < 0, uvec2(uint(abs(k)), 0), 0);
  p = plus_53(p, times_53(n, number_of_double(kWideLn2Rest)));
  return plus(times_53(n, number_of_double(kWideLn2High)), p);
}

// The exact remainder with the sign of a.
Number fmod_of(Number a, Number b) {
  if (a.kind == kNaN || b.kind == kNaN || a.kind == kInfinite || b.kind == kZero)
    return Number(kNaN, false, 0, uvec2(0));
  if (a.kind == kZero || b.kind == kInfinite || is_less_magnitude(a, b)) return a;
  uvec2 rest = shift_right(a.m, 1), by = shift_right(b.m, 1);  // leaves space for a digit
  const uvec2 minus = negate_64(by);
  for (int left = a.e - b.e; left >= 0; --left) {  // at most 2098
    if (!less_64(rest, by)) rest = add_64(rest, minus);
    if (left > 0) rest = shift_left(rest, 1);
  }
  return rest == uvec2(0) ? Number(kZero, a.negative, 0, rest) : finite(a.negative, rest, b.e - 62);
}
Number floor_mod_of(Number a, Number b) {
  Number r = fmod_of(a, b);
  return r.kind == kFinite && r.negative != b.negative ? plus(r, b) : r;
}
