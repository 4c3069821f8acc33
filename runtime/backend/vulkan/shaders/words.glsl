// 64 bits as two words, low first: shifts, sums, order, for devices without 64-bit integers.
#ifndef WICK_WORDS
#define WICK_WORDS

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

// Returns the lower half of a product.
uvec2 multiply_64(uvec2 a, uvec2 b) {
  uint high, low;
  umulExtended(a.x, b.x, high, low);
  return uvec2(low, high + a.x * b.y + a.y * b.x);
}

// The order of float64s, by their bits.
bool is_nan_64(uvec2 v) {
  uint high = v.y & 0x7fffffffu;
  return high > 0x7ff00000u || (high == 0x7ff00000u && v.x != 0);
}
// Returns an integer that has the order of doubles; both zeros are equal.
uvec2 order_of(uvec2 v) {
  if ((v.x | (v.y & 0x7fffffffu)) == 0) return uvec2(0, 0x80000000u);
  return (v.y & 0x80000000u) != 0 ? ~v : uvec2(v.x, v.y | 0x80000000u);
}

#endif
