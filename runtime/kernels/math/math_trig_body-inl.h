// Included inside a namespace that defines the vocabulary (math-inl.h, math_scalar.h): no guard.
// sin, cos, tan and their inverses.

constexpr float kPio2Hi = 0x1.921fb6p0f;
constexpr float kPio2Mid = -0x1.777a5cp-25f;
constexpr float kPio2Lo = -0x1.ee59dap-50f;

// a = quadrant * pi/2 + r (mod 2 pi), |r| <= pi/4 (1 + tiny), for a >= 0.
struct Reduced {
  Pair r;
  I quadrant;
};
WICK_MATH_FN Reduced reduce_pio2(F a) {
  // Three parts of pi/2 suffice up to this limit. Without fused steps the first product is not
  // exact.
  constexpr float kLimit = kFused ? 65536.0f : 0.78f;
  Mask large = !(a <= F(kLimit));
  F c = select(large, F(0), a);
  F kf = fma(c, F(0x1.45f306p-1f), F(kMagic));
  I quadrant = bits(kf) - bits(F(kMagic));
  kf = kf - F(kMagic);
  F exact = nfma(kf, F(kPio2Hi), c);  // multiples of 2^-24 below 1: no rounding
  Pair mid = two_product(kf, F(kPio2Mid));
  Pair r = two_sum(exact, -mid.hi);
  r = fast_two_sum(r.hi, nfma(kf, F(kPio2Lo), r.lo - mid.lo));
  if (any(large)) {
    F hi(0), lo(0);
    I q(0);
    rem_pio2_exact(a, hi, lo, q);
    r = {select(large, hi, r.hi), select(large, lo, r.lo)};
    quadrant = select(large, q, quadrant);
  }
  return {r, quadrant};
}

// sin(r) and cos(r), |r| <= pi/4, as unevaluated sums.
WICK_MATH_FN Pair sin_pair(Pair r) {
  F r2 = r.hi * r.hi;
  F p = poly(r2, 0x1.77e1f8p-19f, -0x1.a04866p-13f, 0x1.111164p-7f, -0x1.555556p-3f);
  return {r.hi, fma(r.hi * r2, p, r.lo)};
}
WICK_MATH_FN Pair cos_pair(Pair r) {
  F r2 = r.hi * r.hi;
  F half = r2 * F(0.5f);
  Pair w = fast_two_sum(F(1), -half);
  F half_lo = fma(r.hi, r.hi, -r2) * F(0.5f);
  F p = poly(r2, 0x1.99e91p-16f, -0x1.6c0c2ap-10f, 0x1.55554ap-5f);
  return {w.hi, w.lo + (fma(r2 * r2, p, -half_lo) - r.hi * r.lo)};
}

// The value of sin at quadrant * pi/2 + r.
WICK_MATH_FN F sin_at(Reduced a) {
  Pair s = sin_pair(a.r);
  Pair c = cos_pair(a.r);
  F value = select((a.quadrant & I(1)) == I(1), c.hi + c.lo, s.hi + s.lo);
  return as_float(bits(value) ^ shl<31>(shr<1>(a.quadrant)));
}

WICK_MATH_FN F sin(F x) { return with_sign(sin_at(reduce_pio2(abs(x))), sign_of(x)); }

WICK_MATH_FN F cos(F x) {
  Reduced a = reduce_pio2(abs(x));
  return sin_at({a.r, a.quadrant + I(1)});
}

WICK_MATH_FN F tan(F x) {
  Reduced a = reduce_pio2(abs(x));
  Pair s = sin_pair(a.r);
  s = fast_two_sum(s.hi, s.lo);
  Pair c = cos_pair(a.r);
  c = fast_two_sum(c.hi, c.lo);
  Mask odd = (a.quadrant & I(1)) == I(1);  // -cot
  F n = select(odd, -c.hi, s.hi);
  F n_lo = select(odd, -c.lo, s.lo);
  F d = select(odd, s.hi, c.hi);
  F d_lo = select(odd, s.lo, c.lo);
  F q = n / d;
  F rest = nfma(q, d, n) + nfma(q, d_lo, n_lo);
  return with_sign(q + rest / d, sign_of(x));
}

WICK_MATH_FN F atan(F x) {
  F a = abs(x);
  Mask big = a > F(1);
  F z = select(big, F(-1) / a, a);
  F z2 = z * z;
  F p = z * z2 *
        poly(z2, -0x1.d5a1aap-10f, 0x1.6551e2p-7f, -0x1.fe7d24p-6f, 0x1.da9c2ep-5f, -0x1.5825f2p-4f,
             0x1.c0946cp-4f, -0x1.24211ap-3f, 0x1.9991ecp-3f, -0x1.55553ep-2f);
  Pair s = fast_two_sum(select(big, F(kPio2Hi), F(0)), z);
  F r = s.hi + (s.lo + (p + select(big, F(kPio2Mid), F(0))));
  return with_sign(r, sign_of(x));
}

// (asin(z) - z) / z as a function of z^2, z^2 <= 1/4
WICK_MATH_FN F asin_tail(F z2) {
  return z2 * poly(z2, 0x1.33d432p-5f, 0x1.d7924cp-7f, 0x1.04af34p-5f, 0x1.6caab6p-5f,
                   0x1.33389ep-4f, 0x1.55554cp-3f);
}
// For a in [1/2, 1]: asin(sqrt((1 - a) / 2)) as an unevaluated sum.
WICK_MATH_FN Pair asin_of_half_angle(F a) {
  F z2 = nfma(F(0.5f), a, F(0.5f));  // exact
  F z = sqrt(z2);
  F z_lo = select(z2 > F(0), nfma(z, z, z2) / (z + z), F(0));
  return {z, fma(z, asin_tail(z2), z_lo)};
}

WICK_MATH_FN F asin(F x) {
  F a = abs(x);
  F small = fma(a, asin_tail(a * a), a);
  Pair h = asin_of_half_angle(a);
  Pair d = two_sum(F(kPio2Hi), F(-2) * h.hi);
  F big = d.hi + (d.lo + fma(F(-2), h.lo, F(kPio2Mid)));
  F r = select(a < F(0.5f), small, big);
  return with_sign(select(a <= F(1), r, F(kNaN)), sign_of(x));
}

WICK_MATH_FN F acos(F x) {
  F a = abs(x);
  // |x| < 1/2: pi/2 - asin(x)
  Pair d = fast_two_sum(F(kPio2Hi), -x);
  F small = d.hi + (d.lo + nfma(x, asin_tail(a * a), F(kPio2Mid)));
  Pair h = asin_of_half_angle(a);
  F right = F(2) * (h.hi + h.lo);
  Pair e = fast_two_sum(F(2) * F(kPio2Hi), F(-2) * h.hi);
  F left = e.hi + (e.lo + fma(F(-2), h.lo, F(2) * F(kPio2Mid)));
  F r = select(a < F(0.5f), small, select(x > F(0), right, left));
  return select(a <= F(1), r, F(kNaN));
}
