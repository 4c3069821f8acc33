// Included inside a namespace that defines the vocabulary (math-inl.h, math_scalar.h): no guard.
// The functions whose form depends on the edition. Edition 1 computes pairs of floats and scales in
// two steps; edition 2 has the cheapest forms whose results are within 2.5 ulp, subnormal results
// included. Every step is one IEEE operation in the order written here.

// e^x = p * s * 2^-offset, where p = e^r and s = 2^(k + offset). NaN stays in p.
struct Brief {
  F p, s;
};
// Adding it rounds to an integer k, as kMagic does, and leaves k + offset + 127 in the lowest bits:
// one shift makes 2^(k + offset) of that.
constexpr float brief_magic(int offset) { return kMagic + static_cast<float>(127 + offset); }

// Returns e^r for |r| <= ln2/2, by a polynomial of degree 6.
WICK_MATH_FN F brief_poly(F r) { return fma(fma(exp_tail(r), r, F(1)), r, F(1)); }
WICK_MATH_FN Brief brief_parts(F x, F magic) {
  F kf = fma(x, F(kLog2e), magic);
  F s = as_float(shl<23>(bits(kf)));
  kf = kf - magic;
  return {brief_poly(nfma(kf, F(kLn2Lo), nfma(kf, F(kLn2Hi), x))), s};
}

// Returns e^x for x <= 0 or NaN, as softmax needs it. It has the bits of brief_exp: of the scaling
// only the last product rounds, and only where the result is subnormal.
WICK_MATH_FN F brief_exp_below(F x) {
  Brief e = brief_parts(at_least(x, -104.0f), F(brief_magic(24)));
  return e.p * e.s * F(0x1p-24f);
}

WICK_MATH_FN F brief_exp(F x) {
  Mask below = x < F(0);
  Brief e =
      brief_parts(clamp(x, -104.0f, 89.0f), select(below, F(brief_magic(24)), F(brief_magic(-2))));
  return e.p * e.s * select(below, F(0x1p-24f), F(4));
}

// Returns 1 / (1 + e^-x). Numerator and denominator are multiplied by 2^-32, so that e^-x is
// finite.
WICK_MATH_FN F brief_sigmoid(F x) {
  Brief e = brief_parts(-clamp(x, -105.0f, 50.0f), F(brief_magic(-32)));
  return F(0x1p-32f) / fma(e.p, e.s, F(0x1p-32f));
}

// Returns x / (1 + e^-u), where e has e^-u 2^-48. Above `whole` the result is x; NaN stays NaN.
WICK_MATH_FN F brief_gate(F x, F whole, Brief e) {
  F y = x / fma(e.p, e.s, F(0x1p-48f)) * F(0x1p-48f);
  return select(x > whole, x, y);
}
WICK_MATH_FN F brief_silu(F x) {
  F c = at_least(x, -120.0f);
  return brief_gate(c, F(50), brief_parts(-c, F(brief_magic(-48))));
}

// Returns h / (h + 1) with the sign of x, where
// h = (e^2|x| - 1) / 2 = (2^k - 1) / 2 + 2^k (e^2r - 1) / 2.
WICK_MATH_FN F brief_tanh(F x) {
  const F magic(brief_magic(0));
  F a = at_most(abs(x), 9.1f);
  F kf = fma(a, F(0x1.715476p1f), magic);
  F s = as_float(shl<23>(bits(kf)));
  F r = nfma(kf - magic, F(0x1.62e43p-2f), a);
  F q = fma(poly(r, 0x1.6bc8a4p-5f, 0x1.1228c2p-3f, 0x1.5556c4p-2f, 0x1.5554bp-1f, 1.0f), r * r, r);
  F h = fma(s, q, fma(s, F(0.5f), F(-0.5f)));
  return with_sign(h / (h + F(1)), sign_of(x));
}

// Returns x / (1 + 2^-v), where v = x (A + B x^2). The exponent needs more than 24 bits, so A + B
// x^2 is a pair.
WICK_MATH_FN F brief_gelu_tanh(F x) {
  constexpr float kA = 0x1.26aep1f, kALo = 0x1.84379cp-16f;  // kA has few bits: kA - t is exact
  constexpr float kB = 0x1.a5a7dp-4f, kBLo = -0x1.151aaep-29f;
  const F magic(brief_magic(-48));
  F c = clamp(x, -10.9f, 6.0f);
  F c2 = c * c;
  F c2_lo = fma(c, c, -c2);
  F t = fma(c2, F(kB), F(kA));
  F t_lo = fma(c2, F(kB), F(kA) - t) + fma(c2_lo, F(kB), fma(c2, F(kBLo), F(kALo)));
  F kf = nfma(c, t, magic);
  F s = as_float(shl<23>(bits(kf)));
  F r = fma(c, t_lo, fma(c, t, kf - magic));
  F p = poly(r, 0x1.41fb92p-13f, -0x1.5f3e96p-10f, 0x1.3b2d4ep-7f, -0x1.c6aee8p-5f, 0x1.ebfbdcp-3f,
             -0x1.62e43p-1f, 1.0f);
  return brief_gate(at_least(x, -10.9f), F(6), {p, s});
}

// The one table of what an edition changes. Kernels take the edition as a template argument.
#define WICK_BY_EDITION(name, first, newest) \
  template <Edition edition>                 \
  WICK_MATH_FN F name(F x) {                 \
    if constexpr (edition == Edition::k1) {  \
      return first(x);                       \
    } else {                                 \
      return newest(x);                      \
    }                                        \
  }
WICK_BY_EDITION(exp_in, exp, brief_exp)
WICK_BY_EDITION(exp_below_in, exp, brief_exp_below)  // for x <= 0: the bits of exp_in
WICK_BY_EDITION(sigmoid_in, sigmoid, brief_sigmoid)
WICK_BY_EDITION(tanh_in, tanh, brief_tanh)
WICK_BY_EDITION(silu_in, silu, brief_silu)
WICK_BY_EDITION(gelu_tanh_in, gelu_tanh, brief_gelu_tanh)
#undef WICK_BY_EDITION
