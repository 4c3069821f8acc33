// Included inside a namespace that defines the vocabulary (math-inl.h, math_scalar.h): no guard.
// exp and related functions. Polynomials are relative minimax fits with f32 coefficients.

constexpr float kMagic = 0x1.8p23f;  // adding it rounds |x| < 2^22 to an integer, half to even
constexpr float kLog2e = 0x1.715476p0f;
constexpr float kLn2Hi = 0x1.62e4p-1f;  // few bits: k * kLn2Hi is exact for |k| < 2^9, fused or not
constexpr float kLn2Lo = 0x1.7f7d1cp-20f;

WICK_MATH_FN F operator-(F a) { return as_float(bits(a) ^ I(INT32_MIN)); }
WICK_MATH_FN F abs(F a) { return as_float(bits(a) & I(INT32_MAX)); }
WICK_MATH_FN F sign_of(F a) { return as_float(bits(a) & I(INT32_MIN)); }  // +0 or -0
WICK_MATH_FN F with_sign(F magnitude, F sign_bit) {
  return as_float(bits(magnitude) ^ bits(sign_bit));
}
WICK_MATH_FN Mask is_nan(F a) { return !(a == a); }

// Horner, highest power first.
WICK_MATH_FN F poly(F, float c) { return F(c); }
template <class... C>
WICK_MATH_FN F poly_from(F acc, F x, C... c) {
  ((acc = fma(acc, x, F(c))), ...);
  return acc;
}
template <class... C>
WICK_MATH_FN F poly(F x, float first, C... c) {
  return poly_from(F(first), x, c...);
}

// hi + lo where |lo| is about an ulp of hi.
struct Pair {
  F hi, lo;
};
// Exact when |a| >= |b| or a == 0.
WICK_MATH_FN Pair fast_two_sum(F a, F b) {
  F s = a + b;
  return {s, b - (s - a)};
}
WICK_MATH_FN Pair two_sum(F a, F b) {
  F s = a + b;
  F bb = s - a;
  return {s, (a - (s - bb)) + (b - bb)};
}
WICK_MATH_FN Pair two_product(F a, F b) {
  F p = a * b;
  return {p, fma(a, b, -p)};
}

// 2^k for k in [-126, 127].
WICK_MATH_FN F power_of_two(I k) { return as_float(shl<23>(k + I(127))); }
// p * 2^k for k in [-252, 254], rounded once where the result is subnormal.
WICK_MATH_FN F scale(F p, I k) {
  I half = shr<1>(k);
  return p * power_of_two(half) * power_of_two(k - half);
}

// value * 2^k
struct Scaled {
  F value;
  I k;
};

// e^x = 2^k * e^r with r = hi + lo, |r| <= ln2/2 (1 + tiny). |x| <= 150.
struct ExpReduced {
  F hi, lo;
  I k;
};
WICK_MATH_FN ExpReduced exp_reduce(F x) {
  F kf = fma(x, F(kLog2e), F(kMagic));
  I k = bits(kf) - bits(F(kMagic));
  kf = kf - F(kMagic);
  F exact = nfma(kf, F(kLn2Hi), x);
  F hi = nfma(kf, F(kLn2Lo), exact);
  return {hi, nfma(kf, F(kLn2Lo), exact - hi), k};
}
// (e^r - 1 - r) / r^2
WICK_MATH_FN F exp_tail(F r) {
  return poly(r, 0x1.694cd4p-10f, 0x1.123988p-7f, 0x1.555a26p-5f, 0x1.555492p-3f, 0x1.fffffap-2f);
}
WICK_MATH_FN F expm1_tail(F r) {
  return poly(r, 0x1.9e0c28p-13f, 0x1.6d4372p-10f, 0x1.111306p-7f, 0x1.5554fp-5f, 0x1.555554p-3f,
              0.5f);
}

WICK_MATH_FN Scaled exp_scaled(F x) {
  ExpReduced e = exp_reduce(x);
  return {F(1) + fma(e.hi * e.hi, exp_tail(e.hi), e.hi), e.k};
}
// The same with twice the precision: value = p.hi + p.lo.
struct ScaledPair {
  Pair p;
  I k;
};
WICK_MATH_FN ScaledPair exp_scaled_pair(F x) {
  ExpReduced e = exp_reduce(x);
  Pair s = fast_two_sum(F(1), e.hi);
  return {fast_two_sum(s.hi, s.lo + fma(e.hi * e.hi, expm1_tail(e.hi), e.lo)), e.k};
}
// 2^(hi + lo), |hi| <= 250.
WICK_MATH_FN ScaledPair exp2_scaled_pair(F hi, F lo) {
  F kf = hi + F(kMagic);
  I k = bits(kf) - bits(F(kMagic));
  F r = (hi - (kf - F(kMagic))) + lo;
  F q = poly(r, 0x1.3fad5ep-13f, 0x1.5f0ca8p-10f, 0x1.3b3096p-7f, 0x1.c6af74p-5f, 0x1.ebfbd8p-3f,
             0x1.62e43p-1f);
  F p = fma(r, q, F(1));
  return {{p, fma(r, q, F(1) - p)}, k};
}
WICK_MATH_FN Scaled exp2_scaled(F hi, F lo) {
  ScaledPair e = exp2_scaled_pair(hi, lo);
  return {e.p.hi, e.k};
}

WICK_MATH_FN F exp(F x) {
  Scaled e = exp_scaled(clamp(x, -104.0f, 89.0f));
  return scale(e.value, e.k);
}

WICK_MATH_FN F exp2(F x) {
  Scaled e = exp2_scaled(clamp(x, -151.0f, 129.0f), F(0));
  return scale(e.value, e.k);
}

// e^x - 1 for x clamped to [-30, 89].
WICK_MATH_FN F expm1(F x) {
  F c = clamp(x, -30.0f, 89.0f);
  ExpReduced e = exp_reduce(c);
  F tail = fma(e.hi * e.hi, expm1_tail(e.hi), e.lo);
  // 2^k (1 + hi + tail) - 1, halved so that k = 128 does not overflow.
  F s = power_of_two(e.k - I(1));
  Pair a = two_sum(s - F(0.5f), s * e.hi);
  F half = a.hi + fma(s, tail, a.lo);
  return select(abs(x) < F(0x1p-26f), x, half + half);  // subnormals and -0 as they are
}

// (n + n_lo) / (d.hi + d.lo), nearly rounded once; d is finite and well inside the normal range.
WICK_MATH_FN F divide(F n, F n_lo, Pair d) {
  F inverse = F(1) / d.hi;
  F q = n * inverse;
  F rest = nfma(q, d.lo, nfma(q, d.hi, n)) + n_lo;
  return fma(rest, inverse, q);
}

// 1 / (1 + e^-x)
WICK_MATH_FN F sigmoid(F x) {
  ScaledPair e = exp_scaled_pair(clamp(-abs(x), -110.0f, 0.0f));
  Mask negative = x < F(0);
  F z = scale(e.p.hi, e.k);
  F z_lo = scale(e.p.lo, e.k);
  Pair d = fast_two_sum(F(1), z);
  return divide(select(negative, z, F(1)), select(negative, z_lo, F(0)), {d.hi, d.lo + z_lo});
}

WICK_MATH_FN F tanh(F x) {
  F a = abs(x);
  F a2 = a * a;
  F small = fma(a * a2,
                poly(a2, 0x1.1ab354p-9f, -0x1.0c836ap-7f, 0x1.63ac3ep-6f, -0x1.b9f216p-5f,
                     0x1.11107cp-3f, -0x1.555554p-2f),
                a);
  F c = clamp(a, 0.0f, 10.0f);
  Scaled e = exp_scaled(c + c);
  F big = F(1) - F(2) / (scale(e.value, e.k) + F(1));
  return with_sign(select(a < F(0.625f), small, big), sign_of(x));
}

// e^a / 2 as a pair and e^-a / 2, for a >= 0 (a is cut at 90: the result is infinite there).
struct HalfExps {
  F up, up_lo, down;
};
WICK_MATH_FN HalfExps half_exps(F a) {
  ScaledPair e = exp_scaled_pair(clamp(a, 0.0f, 90.0f));
  I k = e.k - I(1);
  F up = scale(e.p.hi, k);
  return {up, scale(e.p.lo, k), F(0.25f) / up};
}

WICK_MATH_FN F sinh(F x) {
  F a = abs(x);
  F a2 = a * a;
  F small =
      fma(a * a2, poly(a2, 0x1.76771ep-19f, 0x1.a01c22p-13f, 0x1.1110eap-7f, 0x1.555556p-3f), a);
  HalfExps h = half_exps(a);
  Pair d = fast_two_sum(h.up, -h.down);
  F big = select(d.hi > F(0x1.fffffep127f), d.hi, d.hi + (d.lo + h.up_lo));
  return with_sign(select(a < F(1), small, big), sign_of(x));
}

WICK_MATH_FN F cosh(F x) {
  HalfExps h = half_exps(abs(x));
  Pair d = fast_two_sum(h.up, h.down);
  return select(d.hi > F(0x1.fffffep127f), d.hi, d.hi + (d.lo + h.up_lo));
}
