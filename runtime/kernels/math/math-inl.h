// f32 elementary functions on Highway vectors, built only from fma, mul, add, div, sqrt and integer
// operations: they give the same bits on every target with a fused multiply-add and in
// math_scalar.h. The algorithms are in math_*_body-inl.h, written once over the vocabulary below;
// docs/numerics.md has the measured error bounds.
#include <cmath>

#include "hwy/highway.h"
#include "runtime/core/edition.h"
#include "runtime/kernels/math/math_rem_pio2.h"

#if defined(WICK_MATH_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef WICK_MATH_INL_H_
#undef WICK_MATH_INL_H_
#else
#define WICK_MATH_INL_H_
#endif

#include "runtime/kernels/math/fused-inl.h"

HWY_BEFORE_NAMESPACE();
namespace wick {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;
namespace simd_math {

#define WICK_MATH_FN HWY_INLINE

using DF = hn::ScalableTag<float>;
using DI = hn::ScalableTag<int32_t>;

struct Mask {
  hn::Mask<DF> v;
};
struct I {
  hn::Vec<DI> v;
  HWY_INLINE explicit I(int32_t x) : v(hn::Set(DI(), x)) {}
  HWY_INLINE explicit I(hn::Vec<DI> x) : v(x) {}
};
struct F {
  hn::Vec<DF> v;
  HWY_INLINE explicit F(float x) : v(hn::Set(DF(), x)) {}
  HWY_INLINE explicit F(hn::Vec<DF> x) : v(x) {}
};

HWY_INLINE F operator+(F a, F b) { return F(hn::Add(a.v, b.v)); }
HWY_INLINE F operator-(F a, F b) { return F(hn::Sub(a.v, b.v)); }
HWY_INLINE F operator*(F a, F b) { return F(hn::Mul(a.v, b.v)); }
HWY_INLINE F operator/(F a, F b) { return F(hn::Div(a.v, b.v)); }
HWY_INLINE F fma(F a, F b, F c) { return F(fused_mul_add(a.v, b.v, c.v)); }
HWY_INLINE F nfma(F a, F b, F c) { return F(fused_neg_mul_add(a.v, b.v, c.v)); }
HWY_INLINE F sqrt(F a) { return F(hn::Sqrt(a.v)); }

HWY_INLINE Mask operator<(F a, F b) { return {hn::Lt(a.v, b.v)}; }
HWY_INLINE Mask operator<=(F a, F b) { return {hn::Le(a.v, b.v)}; }
HWY_INLINE Mask operator>(F a, F b) { return {hn::Gt(a.v, b.v)}; }
HWY_INLINE Mask operator>=(F a, F b) { return {hn::Ge(a.v, b.v)}; }
HWY_INLINE Mask operator==(F a, F b) { return {hn::Eq(a.v, b.v)}; }
HWY_INLINE Mask operator&(Mask a, Mask b) { return {hn::And(a.v, b.v)}; }
HWY_INLINE Mask operator|(Mask a, Mask b) { return {hn::Or(a.v, b.v)}; }
HWY_INLINE Mask operator!(Mask a) { return {hn::Not(a.v)}; }
HWY_INLINE F select(Mask m, F a, F b) { return F(hn::IfThenElse(m.v, a.v, b.v)); }
HWY_INLINE I select(Mask m, I a, I b) {
  return I(hn::IfThenElse(hn::RebindMask(DI(), m.v), a.v, b.v));
}
HWY_INLINE bool any(Mask m) { return !hn::AllFalse(DF(), m.v); }

HWY_INLINE I bits(F a) { return I(hn::BitCast(DI(), a.v)); }
HWY_INLINE F as_float(I a) { return F(hn::BitCast(DF(), a.v)); }
HWY_INLINE I operator+(I a, I b) { return I(hn::Add(a.v, b.v)); }
HWY_INLINE I operator-(I a, I b) { return I(hn::Sub(a.v, b.v)); }
HWY_INLINE I operator&(I a, I b) { return I(hn::And(a.v, b.v)); }
HWY_INLINE I operator|(I a, I b) { return I(hn::Or(a.v, b.v)); }
HWY_INLINE I operator^(I a, I b) { return I(hn::Xor(a.v, b.v)); }
HWY_INLINE Mask operator==(I a, I b) { return {hn::RebindMask(DF(), hn::Eq(a.v, b.v))}; }
template <int n>
HWY_INLINE I shl(I a) {
  return I(hn::ShiftLeft<n>(a.v));
}
template <int n>
HWY_INLINE I shr(I a) {
  return I(hn::ShiftRight<n>(a.v));
}
HWY_INLINE F to_float(I a) { return F(hn::ConvertTo(DF(), a.v)); }
HWY_INLINE I truncate(F a) { return I(hn::ConvertTo(DI(), a.v)); }
// NaN is passed through.
HWY_INLINE F at_least(F x, float lo) {
#if HWY_ARCH_X86 && HWY_TARGET != HWY_SCALAR && HWY_TARGET != HWY_EMU128
  // minps and maxps return their second operand when one is NaN.
  return F(hn::Max(hn::Set(DF(), lo), x.v));
#else
  return select(x < F(lo), F(lo), x);
#endif
}
HWY_INLINE F at_most(F x, float hi) {
#if HWY_ARCH_X86 && HWY_TARGET != HWY_SCALAR && HWY_TARGET != HWY_EMU128
  return F(hn::Min(hn::Set(DF(), hi), x.v));
#else
  return select(x > F(hi), F(hi), x);
#endif
}
HWY_INLINE F clamp(F x, float lo, float hi) { return at_least(at_most(x, hi), lo); }
HWY_INLINE void rem_pio2_exact(F x, F& hi, F& lo, I& quadrant) {
  constexpr size_t kLanes = hn::MaxLanes(DF());
  HWY_ALIGN float xs[kLanes], his[kLanes], los[kLanes];
  HWY_ALIGN int32_t quadrants[kLanes];
  hn::Store(x.v, DF(), xs);
  rem_pio2_large(xs, his, los, quadrants, hn::Lanes(DF()));
  hi = F(hn::Load(DF(), his));
  lo = F(hn::Load(DF(), los));
  quadrant = I(hn::Load(DI(), quadrants));
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

}  // namespace simd_math
}  // namespace HWY_NAMESPACE
}  // namespace wick
HWY_AFTER_NAMESPACE();

#endif  // per-target guard
