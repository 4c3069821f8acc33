// Sums and products of float64 out of integer steps, since few devices have the type: IEEE's, to the nearest, half to
// even, subnormals included. Low word first.

const uvec2 kNanBits = uvec2(0u, 0x7ff80000u);

uvec2 shift_left(uvec2 v, uint n) {  // n < 64
  if (n >= 32) return uvec2(0u, v.x << (n - 32));
  return n == 0 ? v : uvec2(v.x << n, (v.y << n) | (v.x >> (32 - n)));
}
// What falls out below leaves a bit behind.
uvec2 shift_right_jam(uvec2 v, uint n) {
  if (n == 0) return v;
  if (n >= 64) return uvec2(uint(v != uvec2(0u)), 0u);
  uvec2 kept = n >= 32 ? uvec2(n == 32 ? v.y : v.y >> (n - 32), 0u)
                       : uvec2((v.x >> n) | (v.y << (32 - n)), v.y >> n);
  bool lost = n >= 32 ? v.x != 0 || (n > 32 && (v.y << (64 - n)) != 0) : (v.x << (32 - n)) != 0;
  return uvec2(kept.x | uint(lost), kept.y);
}
uvec2 add_words(uvec2 a, uvec2 b) {
  uint carry, low = uaddCarry(a.x, b.x, carry);
  return uvec2(low, a.y + b.y + carry);
}
uvec2 subtract_words(uvec2 a, uvec2 b) {
  uint borrow, low = usubBorrow(a.x, b.x, borrow);
  return uvec2(low, a.y - b.y - borrow);
}

// m * 2^(e - 1023 - 62): the leading bit of m is bit 62 once it is normal.
struct Wide { uint sign; int e; uvec2 m; };

bool is_nan_bits(uvec2 v) {
  uint high = v.y & 0x7fffffffu;
  return high > 0x7ff00000u || (high == 0x7ff00000u && v.x != 0);
}
bool is_inf_bits(uvec2 v) { return (v.y & 0x7fffffffu) == 0x7ff00000u && v.x == 0; }
bool is_zero_bits(uvec2 v) { return ((v.y & 0x7fffffffu) | v.x) == 0; }

// Moves the leading bit up to bit 62; m is not 0.
Wide normal(Wide w) {
  int top = w.m.y != 0 ? 32 + findMSB(w.m.y) : findMSB(w.m.x);
  w.m = shift_left(w.m, uint(62 - top));
  w.e -= 62 - top;
  return w;
}
Wide wide_of(uvec2 v) {  // of a number other than 0
  Wide w;
  w.sign = v.y & 0x80000000u;
  w.e = int(v.y >> 20) & 0x7ff;
  w.m = uvec2(v.x, v.y & 0xfffffu);
  if (w.e == 0) {
    w.e = 1;
  } else {
    w.m.y |= 0x100000u;
  }
  w.m = shift_left(w.m, 10);
  return normal(w);
}
uvec2 bits_of(Wide w) {
  if (w.e >= 0x7ff) return uvec2(0u, w.sign | 0x7ff00000u);
  if (w.e <= 0) {
    w.m = shift_right_jam(w.m, uint(1 - w.e));
    w.e = 0;
  }
  uint rest = w.m.x & 0x3ffu;
  uvec2 kept = uvec2((w.m.x >> 10) | (w.m.y << 22), w.m.y >> 10);
  if (rest > 0x200u || (rest == 0x200u && (kept.x & 1u) != 0)) kept = add_words(kept, uvec2(1u, 0u));
  // A normal one's leading bit adds 1 to the exponent; so does what rounding carries.
  return uvec2(kept.x, w.sign + (uint(max(w.e - 1, 0)) << 20) + kept.y);
}

uvec2 add_doubles(uvec2 a, uvec2 b) {
  if (is_nan_bits(a) || is_nan_bits(b)) return kNanBits;
  if (is_inf_bits(a)) return is_inf_bits(b) && a.y != b.y ? kNanBits : a;
  if (is_inf_bits(b)) return b;
  if (is_zero_bits(a)) return is_zero_bits(b) ? uvec2(0u, a.y & b.y) : b;
  if (is_zero_bits(b)) return a;
  Wide p = wide_of(a), q = wide_of(b);
  if (p.e < q.e || (p.e == q.e && (p.m.y < q.m.y || (p.m.y == q.m.y && p.m.x < q.m.x)))) {
    Wide held = p;
    p = q;
    q = held;
  }
  uvec2 other = shift_right_jam(q.m, uint(p.e - q.e));
  if (p.sign == q.sign) {
    p.m = add_words(p.m, other);
    if ((p.m.y & 0x80000000u) != 0) {
      p.m = shift_right_jam(p.m, 1);
      ++p.e;
    }
    return bits_of(p);
  }
  p.m = subtract_words(p.m, other);
  if (p.m == uvec2(0u)) return uvec2(0u);
  return bits_of(normal(p));
}

uvec2 multiply_doubles(uvec2 a, uvec2 b) {
  uint sign = (a.y ^ b.y) & 0x80000000u;
  if (is_nan_bits(a) || is_nan_bits(b)) return kNanBits;
  if (is_inf_bits(a) || is_inf_bits(b)) {
    return is_zero_bits(a) || is_zero_bits(b) ? kNanBits : uvec2(0u, sign | 0x7ff00000u);
  }
  if (is_zero_bits(a) || is_zero_bits(b)) return uvec2(0u, sign);
  Wide p = wide_of(a), q = wide_of(b);
  // 63 bits by 63: the upper 64 of 126, the lower ones a bit that stays.
  uint high, low, carry;
  umulExtended(p.m.x, q.m.x, high, low);
  bool lost = low != 0;
  uvec2 middle = uvec2(high, 0u), upper;
  umulExtended(p.m.x, q.m.y, high, low);
  middle = add_words(middle, uvec2(low, high));
  umulExtended(p.m.y, q.m.x, high, low);
  uvec2 sum = add_words(middle, uvec2(low, high));
  carry = uint(sum.y < middle.y || (sum.y == middle.y && sum.x < middle.x));
  lost = lost || sum.x != 0;
  umulExtended(p.m.y, q.m.y, high, low);
  upper = add_words(uvec2(low, high), uvec2(sum.y, carry));
  upper.x |= uint(lost);
  Wide r;
  r.sign = sign;
  // Two leading bits at 62 make one at 124 or 125, which is 60 or 61 here.
  r.e = p.e + q.e - 1023 + 2;
  r.m = upper;
  return bits_of(normal(r));
}
