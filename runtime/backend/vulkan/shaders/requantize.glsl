// The contract's requantization in integer arithmetic alone, so that it does not depend on a device's rounding modes,
// subnormals and division: float32 products, rounded to nearest, half to even.

// m * 2^e; m has 24 bits or is 0.
struct Real { uint m; int e; };

Real real_of(uint bits) {  // from a float >= 0
  int e = int(bits >> 23) & 255;
  uint m = bits & 0x7fffffu;
  if (e != 0) return Real(m | 0x800000u, e - 150);
  if (m == 0) return Real(0u, 0);
  int shift = 23 - findMSB(m);
  return Real(m << shift, -149 - shift);
}

// Rounds m * 2^e like a float; m is below 2^30; `sticky`: the exact value is slightly larger.
Real rounded(uint m, bool sticky, int e) {
  if (m == 0) return Real(0u, 0);
  int drop = max(findMSB(m) - 23, -149 - e);
  if (drop > 30) return Real(0u, 0);
  if (drop > 0) {
    uint rest = m & ((1u << drop) - 1u), half_way = 1u << (drop - 1);
    m >>= drop;
    e += drop;
    if (rest > half_way || (rest == half_way && (sticky || (m & 1u) != 0))) ++m;
    if (m == 0) return Real(0u, 0);
  }
  int shift = 23 - findMSB(m);  // -1 where rounding carried
  return shift < 0 ? Real(m >> 1, e + 1) : Real(m << shift, e - shift);
}

Real product(Real a, Real b) {
  uint high, low;
  umulExtended(a.m, b.m, high, low);
  return rounded((high << 12) | (low >> 20), (low & 0xfffffu) != 0, a.e + b.e + 20);
}
Real quotient(Real a, Real b) {
  if (a.m == 0) return a;
  uint rest = a.m, q = 0;
  for (int i = 0; i < 26; ++i) {
    q <<= 1;
    if (rest >= b.m) {
      rest -= b.m;
      q |= 1u;
    }
    rest <<= 1;
  }
  return rounded(q, rest != 0, a.e - b.e - 25);
}
// A scale is finite and above 0; a Real is finite if it fits a float.
bool is_scale(uint bits) { return bits > 0u && bits < 0x7f800000u; }
bool is_finite(Real r) { return r.m == 0 || r.e + 23 < 128; }

// Returns round(sum * multiplier), clamped to [lo, hi].
int scaled(int sum, Real multiplier, int lo, int hi) {
  uint m = sum < 0 ? 0u - uint(sum) : uint(sum);
  Real r = m < 0x40000000u ? rounded(m, false, 0) : rounded(m >> 2, (m & 3u) != 0, 2);
  r = product(r, multiplier);
  int v = 1024;  // greater than every byte
  if (r.m == 0 || r.e < -31) {
    v = 0;
  } else if (r.e + 23 < 10) {
    int drop = -r.e;
    uint rest = r.m & ((1u << drop) - 1u), half_way = 1u << (drop - 1);
    v = int(r.m >> drop);
    if (rest > half_way || (rest == half_way && (v & 1) != 0)) ++v;
  }
  return clamp(sum < 0 ? -v : v, lo, hi);
}
