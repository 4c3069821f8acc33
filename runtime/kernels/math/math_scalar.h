// The scalar version of math-inl.h: the same algorithms on one float at a time with std::fma. The
// reference kernels use it, so comparing reference and SIMD rows tests the vocabulary on each
// target.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

#include "runtime/core/edition.h"
#include "runtime/kernels/math/math_rem_pio2.h"

namespace wick::scalar_math {

#define WICK_MATH_FN inline

struct Mask {
  bool v;
};
struct I {
  int32_t v;
  explicit I(int32_t x) : v(x) {}
};
struct F {
  float v;
  explicit F(float x) : v(x) {}
};

constexpr bool kFused = true;

inline F operator+(F a, F b) { return F(a.v + b.v); }
inline F operator-(F a, F b) { return F(a.v - b.v); }
inline F operator*(F a, F b) { return F(a.v * b.v); }
inline F operator/(F a, F b) { return F(a.v / b.v); }
inline F fma(F a, F b, F c) { return F(std::fma(a.v, b.v, c.v)); }
inline F nfma(F a, F b, F c) { return F(std::fma(-a.v, b.v, c.v)); }
inline F sqrt(F a) { return F(std::sqrt(a.v)); }

inline Mask operator<(F a, F b) { return {a.v < b.v}; }
inline Mask operator<=(F a, F b) { return {a.v <= b.v}; }
inline Mask operator>(F a, F b) { return {a.v > b.v}; }
inline Mask operator>=(F a, F b) { return {a.v >= b.v}; }
inline Mask operator==(F a, F b) { return {a.v == b.v}; }
inline Mask operator&(Mask a, Mask b) { return {a.v && b.v}; }
inline Mask operator|(Mask a, Mask b) { return {a.v || b.v}; }
inline Mask operator!(Mask a) { return {!a.v}; }
inline F select(Mask m, F a, F b) { return m.v ? a : b; }
inline I select(Mask m, I a, I b) { return m.v ? a : b; }
inline bool any(Mask m) { return m.v; }

inline I bits(F a) { return I(std::bit_cast<int32_t>(a.v)); }
inline F as_float(I a) { return F(std::bit_cast<float>(a.v)); }
inline I wrap(uint32_t x) { return I(static_cast<int32_t>(x)); }
inline I operator+(I a, I b) {
  return wrap(static_cast<uint32_t>(a.v) + static_cast<uint32_t>(b.v));
}
inline I operator-(I a, I b) {
  return wrap(static_cast<uint32_t>(a.v) - static_cast<uint32_t>(b.v));
}
inline I operator&(I a, I b) { return I(a.v & b.v); }
inline I operator|(I a, I b) { return I(a.v | b.v); }
inline I operator^(I a, I b) { return I(a.v ^ b.v); }
inline Mask operator==(I a, I b) { return {a.v == b.v}; }
template <int n>
inline I shl(I a) {
  return wrap(static_cast<uint32_t>(a.v) << n);
}
template <int n>
inline I shr(I a) {
  return I(a.v >> n);
}
inline F to_float(I a) { return F(static_cast<float>(a.v)); }
// |a| < 2^31
inline I truncate(F a) { return I(static_cast<int32_t>(a.v)); }
// NaN is passed through; lo < hi.
inline F clamp(F x, float lo, float hi) { return F(x.v < lo ? lo : x.v > hi ? hi : x.v); }
// The halves of clamp.
inline F at_least(F x, float lo) { return F(x.v < lo ? lo : x.v); }
inline F at_most(F x, float hi) { return F(x.v > hi ? hi : x.v); }
inline void rem_pio2_exact(F x, F& hi, F& lo, I& quadrant) {
  rem_pio2_large(&x.v, &hi.v, &lo.v, &quadrant.v, 1);
}

// Each of these uses those before it.
// clang-format off
#include "runtime/kernels/math/math_exp_body-inl.h"
#include "runtime/kernels/math/math_log_body-inl.h"
#include "runtime/kernels/math/math_trig_body-inl.h"
#include "runtime/kernels/math/math_activation_body-inl.h"
#include "runtime/kernels/math/math_edition_body-inl.h"
// clang-format on

#undef WICK_MATH_FN

}  // namespace wick::scalar_math
