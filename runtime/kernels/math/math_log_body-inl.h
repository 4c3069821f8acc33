// Included inside a namespace that defines the vocabulary (math-inl.h, math_scalar.h): no guard.
// log and related functions, pow, and the inverse hyperbolic functions.

constexpr float kInf = __builtin_huge_valf();
constexpr float kNaN = __builtin_nanf("");

// a = 2^k * m, m in [sqrt(1/2), sqrt(2)), for finite a > 0, subnormals included.
struct Split {
  F m;
  I k;
};
WICK_MATH_FN Split split(F a) {
  Mask subnormal = a < F(0x1p-126f);
  I u = bits(select(subnormal, a * F(0x1p24f), a));
  I k = shr<23>(u - I(0x3F3504F3));
  F m = as_float(u - shl<23>(k));
  return {m, select(subnormal, k - I(24), k)};
}

// log(2^extra * (a + lo)) as an unevaluated sum |hi| > |lo|, for finite a > 0; `lo_over_a` is lo /
// a.
WICK_MATH_FN Pair log_pair(F a, F lo_over_a, F extra) {
  Split s = split(a);
  F f = s.m - F(1);
  F p = poly(f, -0x1.2a6f78p-4f, 0x1.015974p-3f, -0x1.0e96ccp-3f, 0x1.239ce2p-3f, -0x1.5466fep-3f,
             0x1.99944ep-3f, -0x1.000234p-2f, 0x1.55557p-2f);
  F q = f * f * fma(f, p, F(-0.5f));
  F k = to_float(s.k) + extra;
  Pair sum = fast_two_sum(k * F(kLn2Hi), f);
  return {sum.hi, sum.lo + (q + fma(k, F(kLn2Lo), lo_over_a))};
}

// The results of log outside (0, inf).
WICK_MATH_FN F log_edges(F x, F inside) {
  F r = select(x == F(kInf), x, inside);
  r = select(x == F(0), F(-kInf), r);
  return select((x < F(0)) | is_nan(x), F(kNaN), r);
}

WICK_MATH_FN F log(F x) {
  Pair l = log_pair(x, F(0), F(0));
  return log_edges(x, l.hi + l.lo);
}

// log(1 + x + lo) for 1 + x > 0.
WICK_MATH_FN Pair log1p_pair(F x, F lo) {
  Pair u = two_sum(F(1), x);
  return log_pair(u.hi, (u.lo + lo) / u.hi, F(0));
}

WICK_MATH_FN F log1p(F x) {
  Pair l = log1p_pair(x, F(0));
  F r = select(x == F(0), x, l.hi + l.lo);  // -0
  r = select(x == F(kInf), x, r);
  r = select(x == F(-1), F(-kInf), r);
  return select((x < F(-1)) | is_nan(x), F(kNaN), r);
}

// log2(a) to about 2^-40, relative, for finite a > 0.
WICK_MATH_FN Pair log2_pair(F a) {
  Split s = split(a);
  // log2(m) = 2/ln2 atanh(t), t = (m - 1) / (m + 1)
  F num = s.m - F(1);
  Pair den = fast_two_sum(s.m, F(1));
  den = {den.hi, (s.m - (den.hi - F(1)))};
  F inverse = F(1) / den.hi;
  F t = num * inverse;
  F t_lo = nfma(t, den.lo, nfma(t, den.hi, num)) * inverse;
  Pair t2 = two_product(t, t);
  t2.lo = fma(t + t, t_lo, t2.lo);
  Pair t3 = two_product(t, t2.hi);
  t3.lo = t3.lo + fma(t, t2.lo, t_lo * t2.hi);
  Pair third = two_product(t3.hi, F(0x1.555556p-2f));
  third.lo = third.lo + fma(t3.hi, F(-0x1.555556p-27f), t3.lo * F(0x1.555556p-2f));
  F rest =
      t3.hi * t2.hi * poly(t2.hi, 0x1.8fedc6p-4f, 0x1.c644a6p-4f, 0x1.2493acp-3f, 0x1.999998p-3f);
  Pair at = fast_two_sum(t, third.hi);
  at = fast_two_sum(at.hi, at.lo + (t_lo + (third.lo + rest)));
  Pair l = two_product(at.hi, F(0x1.715476p1f));
  l.lo = l.lo + fma(at.hi, F(0x1.4ae0cp-25f), at.lo * F(0x1.715476p1f));
  Pair sum = fast_two_sum(to_float(s.k), l.hi);
  return fast_two_sum(sum.hi, sum.lo + l.lo);
}

WICK_MATH_FN F log2(F x) {
  Pair l = log2_pair(x);
  return log_edges(x, l.hi + l.lo);
}

WICK_MATH_FN F log10(F x) {
  constexpr float kHi = 0x1.344136p-2f, kLo = -0x1.ec10cp-27f;  // log10(2)
  Pair l = log2_pair(x);
  Pair p = two_product(l.hi, F(kHi));
  return log_edges(x, p.hi + (p.lo + fma(l.hi, F(kLo), l.lo * F(kHi))));
}

// x^3, with the second product's rounding corrected by the error of the first; not valid at 0 and
// infinity.
WICK_MATH_FN F cube(F x) {
  Pair s = two_product(x, x);
  F r = s.hi * x;
  F rest = fma(s.hi, x, -r) + s.lo * x;
  return select((abs(r) > F(0)) & (abs(r) < F(kInf)), r + rest, r);
}
// +0 at -0, infinity at -infinity, like pow.
WICK_MATH_FN F root(F x) { return select(x == F(-kInf), F(kInf), sqrt(x) + F(0)); }

// Exponents that are common in models use plain arithmetic, whether all lanes have the same one or
// not.
WICK_MATH_FN F pow(F x, F y) {
  Mask two = y == F(2), three = y == F(3);
  if (!any(!two)) return x * x;
  if (!any(!three)) return cube(x);
  Mask half = y == F(0.5f), one = y == F(1), minus = y == F(-1);
  Mask plain = two | three | half | one | minus;
  F p = x;
  if (any(plain)) {
    p = select(two, x * x, select(three, cube(x), p));
    p = select(half, root(x), select(minus, F(1) / x, p));
    if (!any(!plain)) return p;
  }
  F a = abs(x);
  Pair l = log2_pair(a);
  Mask finite = (a > F(0)) & (a < F(kInf));
  F log_hi = select(finite, l.hi, select(a == F(0), F(-kInf), F(kInf)));
  F hi = y * log_hi;
  Mask in_range = abs(hi) < F(200);
  F lo = select(in_range & finite, fma(y, l.lo, fma(y, l.hi, -hi)), F(0));
  Scaled e = exp2_scaled(clamp(select(is_nan(hi), F(0), hi), -200.0f, 200.0f), lo);
  F r = scale(e.value, e.k);

  F ay = abs(y);
  Mask big_y = ay >= F(0x1p24f);  // an even integer
  I yi = truncate(select(big_y | is_nan(y), F(0), y));
  Mask integer = big_y | (to_float(yi) == y);
  Mask odd = ((yi & I(1)) == I(1)) & integer;
  Mask negative = bits(sign_of(x)) == I(INT32_MIN);
  r = select(odd & negative, -r, r);
  r = select((x < F(0)) & (a < F(kInf)) & !integer, F(kNaN), r);
  r = select(is_nan(x) | is_nan(y), F(kNaN), r);
  r = select((a == F(1)) & (ay == F(kInf)), F(1), r);
  r = select(plain, p, r);
  return select((y == F(0)) | (x == F(1)), F(1), r);
}

// Beyond 2^14 the 1 under the root is below half an ulp of the answer: asinh = acosh = log(2 a).
WICK_MATH_FN F log_twice(F a) {
  Pair l = log_pair(a, F(0), F(1));
  return l.hi + l.lo;
}
// sqrt(s.hi + s.lo) for s.hi > 0
WICK_MATH_FN Pair sqrt_pair(Pair s) {
  F r = sqrt(s.hi);
  F rest = nfma(r, r, s.hi) + s.lo;
  return {r, rest / (r + r)};
}

WICK_MATH_FN F asinh(F x) {
  F a = abs(x);
  F a2 = a * a;
  F small = fma(a * a2,
                poly(a2, 0x1.2f51eep-7f, -0x1.487dfcp-6f, 0x1.ec11eap-6f, -0x1.6d7ebcp-5f,
                     0x1.33323ap-4f, -0x1.555554p-3f),
                a);
  F c = clamp(a, 0.25f, 0x1p15f);
  Pair c2 = two_product(c, c);
  Pair s = two_sum(c2.hi, F(1));
  Pair root = sqrt_pair({s.hi, s.lo + c2.lo});
  Pair sum = fast_two_sum(root.hi, c);
  Pair l = log_pair(sum.hi, (sum.lo + root.lo) / sum.hi, F(0));
  F r = select(a < F(0.5f), small, select(a < F(0x1p14f), l.hi + l.lo, log_twice(a)));
  r = select(a < F(kInf), r, a);  // inf and NaN
  return with_sign(r, sign_of(x));
}

// log1p(t + sqrt(t (t + 2))), t = x - 1
WICK_MATH_FN F acosh(F x) {
  F c = clamp(x, 1.0f, 0x1p15f);
  Pair t = two_sum(c, F(-1));
  Pair t2 = two_product(t.hi, t.hi);
  t2.lo = fma(t.hi + t.hi, t.lo, t2.lo);
  Pair s = two_sum(t.hi + t.hi, t2.hi);
  s.lo = s.lo + (t2.lo + (t.lo + t.lo));
  Pair root = sqrt_pair({select(s.hi > F(0), s.hi, F(1)), s.lo});
  Pair sum = two_sum(root.hi, t.hi);
  Pair l = log1p_pair(sum.hi, sum.lo + (root.lo + t.lo));
  F r = select(x < F(0x1p14f), l.hi + l.lo, log_twice(x));
  r = select(x == F(1), F(0), r);
  r = select(x == F(kInf), x, r);
  return select(x >= F(1), r, F(kNaN));
}

// log1p(2 a / (1 - a)) / 2
WICK_MATH_FN F atanh(F x) {
  F a = abs(x);
  F c = select(a < F(1), a, F(0));
  Pair d = fast_two_sum(F(1), -c);
  F n = c + c;
  F q = n / d.hi;
  F q_lo = nfma(q, d.lo, nfma(q, d.hi, n)) / d.hi;
  Pair l = log1p_pair(q, q_lo);
  F r = F(0.5f) * (l.hi + l.lo);
  r = select(a == F(1), F(kInf), r);
  r = select(a <= F(1), r, F(kNaN));
  // Halving a subnormal would lose its last bit; here atanh(x) = x.
  return select(a < F(0x1p-20f), x, with_sign(r, sign_of(x)));
}
