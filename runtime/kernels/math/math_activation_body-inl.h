// Included inside a namespace that defines the vocabulary (math-inl.h, math_scalar.h): no guard.
// erf and the smooth activations. Each keeps full relative precision in its vanishing tail.

WICK_MATH_FN F erf(F x) {
  F a = abs(x);
  F a2 = a * a;
  // a + a * (erf(a)/a - 1): the leading 1 is exact
  F small = fma(a,
                poly(a2, 0x1.5fff4cp-14f, -0x1.aafd0ap-11f, 0x1.54d5a2p-8f, -0x1.b80ee8p-6f,
                     0x1.ce2dfap-4f, -0x1.812742p-2f, 0x1.06eba8p-3f),
                a);
  // -log2(erfc(a))
  F t = clamp(a, 0.0f, 4.0f);
  F p = poly(t, -0x1.30ccc8p-19f, 0x1.0f6a56p-14f, -0x1.bc01cap-11f, 0x1.bdd3a2p-8f,
             -0x1.36d32cp-5f, 0x1.44a2f4p-3f, 0x1.d2dc9cp-1f, 0x1.a1625ep0f, -0x1.b80bf6p-12f);
  Scaled e = exp2_scaled(-p, F(0));
  F big = F(1) - scale(e.value, e.k);
  return with_sign(select(a < F(0.9f), small, big), sign_of(x));
}

// log(1 + e^x)
WICK_MATH_FN F softplus(F x) {
  ScaledPair e = exp_scaled_pair(clamp(-abs(x), -110.0f, 0.0f));
  F z = scale(e.p.hi, e.k);
  Pair l = log1p_pair(z, scale(e.p.lo, e.k));
  Pair s = two_sum(select(x > F(0), x, F(0)), l.hi);
  F r = s.hi + (s.lo + l.lo);
  r = select(x == F(kInf), x, r);
  return select(is_nan(x), F(kNaN), r);
}

// x * sigmoid(u) where e^-|u| = (p.hi + p.lo) * 2^k and u has the sign of x. For x < 0 the scaling
// by 2^k comes last, so that the tail runs down through the subnormals.
WICK_MATH_FN F times_sigmoid(F x, ScaledPair e) {
  F z = scale(e.p.hi, e.k);
  Pair d = fast_two_sum(F(1), z);
  d.lo = d.lo + scale(e.p.lo, e.k);
  Mask negative = x < F(0);
  Pair n = two_product(x, select(negative, e.p.hi, F(1)));
  F q = divide(n.hi, select(negative, fma(x, e.p.lo, n.lo), F(0)), d);
  Mask kept = (x == F(kInf)) | (x == F(0));  // inf and -0
  return select(negative, scale(q, e.k), select(kept, x, q));
}

WICK_MATH_FN F silu(F x) {
  F c = clamp(x, -115.0f, kInf);
  return times_sigmoid(c, exp_scaled_pair(clamp(-abs(x), -115.0f, 0.0f)));
}

// Returns 2^(e_hi + e_lo) g(a) as p * 2^k. g(a) = erfcx(a / sqrt(2)) / 2 is a polynomial in t = 1 /
// (1 + 0.3 a); with an exponent of -a^2/2 log2(e) the result is Phi(-a). a = a_hi + a_lo.
struct Tail {
  Pair p;
  I k;
};
WICK_MATH_FN Tail gauss_tail(F a, F a_lo, F e_hi, F e_lo) {
  ScaledPair e = exp2_scaled_pair(e_hi, e_lo);
  F d = fma(F(0.3f), a, F(1));
  F t = F(1) / d;
  F t_lo = t * nfma(t, fma(F(0.3f), a, F(1) - d) + F(0.3f) * a_lo, nfma(t, d, F(1)));
  F slope = poly(t, 1.405f, -0.3186f, 0.1969f);  // derivative of g by t, to a few percent
  F g =
      t * poly(t, -0x1.5223b2p-6f, 0x1.ccdaa4p-4f, -0x1.d3bd1p-3f, 0x1.893aa2p-3f, -0x1.4609d4p-4f,
               0x1.8a39cap-4f, 0x1.40f6a6p-4f, 0x1.c38c7cp-4f, 0x1.e9c36cp-4f, 0x1.ea3cap-4f);
  Pair tail = two_product(e.p.hi, g);
  tail.lo = tail.lo + fma(e.p.lo, g, e.p.hi * (t_lo * slope));
  return {tail, e.k};
}

// x Phi(x) = x erfc(-x / sqrt(2)) / 2
WICK_MATH_FN F gelu(F x) {
  F a = clamp(abs(x), 0.0f, 14.6f);
  Pair a2 = two_product(a, a);
  F hi = a2.hi * F(-0x1.715476p-1f);
  F lo = fma(a2.hi, F(-0x1.715476p-1f), -hi) +
         fma(a2.hi, F(-0x1.4ae0cp-27f), a2.lo * F(-0x1.715476p-1f));
  Tail e = gauss_tail(a, F(0), hi, lo);
  Pair tail = e.p;
  F c = clamp(x, -14.6f, kInf);
  F left = scale(fma(c, tail.hi, c * tail.lo), e.k);
  F right = nfma(x, scale(tail.hi + tail.lo, e.k), x);
  F r = select(x < F(0), left, right);
  return select((x == F(kInf)) | (x == F(0)), x, r);  // inf and -0
}

// 2 Phi(-a) with a = |x| sqrt(2); the exponent is computed from x itself.
WICK_MATH_FN F erfc(F x) {
  F c = clamp(abs(x), 0.0f, 10.4f);
  Pair x2 = two_product(c, c);
  F hi = x2.hi * F(-0x1.715476p0f);
  F lo = fma(x2.hi, F(-0x1.715476p0f), -hi) +
         fma(x2.hi, F(-0x1.4ae0cp-26f), x2.lo * F(-0x1.715476p0f));
  Pair a = two_product(c, F(0x1.6a09e6p0f));
  Tail e = gauss_tail(a.hi, fma(c, F(0x1.9fcef4p-26f), a.lo), hi, lo);
  F tail = scale(e.p.hi + e.p.lo, e.k + I(1));
  F r = select(x < F(0), F(2) - tail, tail);
  r = select(abs(x) < F(0.5f), F(1) - erf(x), r);
  return select(is_nan(x), x, r);
}

// 0.5 x (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3))) = x sigmoid(2 u)
WICK_MATH_FN F gelu_tanh(F x) {
  F a = clamp(abs(x), 0.0f, 12.0f);
  Pair a2 = two_product(a, a);
  // 2 u log2(e) = a (A + B a^2)
  Pair b = two_product(a2.hi, F(0x1.a5a7dp-4f));
  b.lo = b.lo + fma(a2.hi, F(-0x1.151aaep-29f), a2.lo * F(0x1.a5a7dp-4f));
  Pair s = two_sum(F(0x1.26aec2p1f), b.hi);
  s.lo = s.lo + (b.lo + F(0x1.bce75ap-27f));
  Pair v = two_product(a, s.hi);
  v.lo = fma(a, s.lo, v.lo);
  return times_sigmoid(clamp(x, -12.0f, kInf), exp2_scaled_pair(-v.hi, -v.lo));
}

// x tanh(log(1 + e^x)) = x n / (n + 2) with n = w (w + 2), w = e^x
WICK_MATH_FN F mish(F x) {
  ScaledPair e = exp_scaled_pair(clamp(-abs(x), -115.0f, 0.0f));
  F z = scale(e.p.hi, e.k);
  // x >= 0, in z = 1/w: (1 + 2 z) / (1 + 2 z + 2 z^2)
  Pair n = fast_two_sum(F(1), z + z);
  Pair right = fast_two_sum(n.hi, F(2) * z * z);
  Pair left = fast_two_sum(F(2), z * (z + F(2)));
  Mask negative = x < F(0);
  F c = clamp(x, -115.0f, kInf) * select(negative, e.p.hi, F(1));
  F top = select(negative, F(2) + z, n.hi);
  Pair d = {select(negative, left.hi, right.hi), select(negative, left.lo, right.lo + n.lo)};
  F r = c * divide(top, select(negative, z - (top - F(2)), n.lo), d);
  return select(negative, scale(r, e.k), r);
}

// -- piecewise linear activations; NaN stays NaN, a result of zero is +0 where the cut is at zero

WICK_MATH_FN F relu(F x) { return select(x <= F(0), F(0), x); }
WICK_MATH_FN F leaky_relu(F x, F alpha) { return select(x < F(0), x * alpha, x); }
// min(max(x, lo), hi) with NaN kept
WICK_MATH_FN F clip(F x, F lo, F hi) {
  F r = select(x <= lo, lo, x);
  return select(r >= hi, hi, r);
}
WICK_MATH_FN F hard_sigmoid(F x, F alpha, F beta) { return clip(fma(alpha, x, beta), F(0), F(1)); }
// x + 3 is exact near the zero at -3
WICK_MATH_FN F hard_swish(F x) { return x * (clip(x + F(3), F(0), F(6)) * F(0x1.555556p-3f)); }
WICK_MATH_FN F elu(F x, F alpha) { return select(x < F(0), alpha * expm1(x), x); }
