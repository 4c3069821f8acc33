// a b + c and c - a b with one rounding, per SIMD target. The numeric contract asks for one
// rounding; Highway's one-lane fallback and its WebAssembly target round twice. WebAssembly's own
// instruction is a relaxed one, which an engine may round twice as well: only a build with
// -mrelaxed-simd has it (targets/wasm32_fma), and its host has to ask the engine first
// (web/src/probe.js). Where nothing is fused, kFused is false and P3 applies.
#if defined(WICK_MATH_FUSED_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef WICK_MATH_FUSED_INL_H_
#undef WICK_MATH_FUSED_INL_H_
#else
#define WICK_MATH_FUSED_INL_H_
#endif

#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace wick {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

#if HWY_TARGET == HWY_SSSE3 || HWY_TARGET == HWY_SSE4 || HWY_TARGET == HWY_EMU128 || \
    (HWY_ARCH_WASM && !defined(__wasm_relaxed_simd__))
constexpr bool kFused = false;
#else
constexpr bool kFused = true;
#endif

template <class V>
HWY_INLINE V fused_mul_add(V a, V b, V c) {
#if HWY_TARGET == HWY_SCALAR
  return V(__builtin_fmaf(a.raw, b.raw, c.raw));
#elif HWY_TARGET == HWY_WASM && defined(__wasm_relaxed_simd__)
  return V{wasm_f32x4_relaxed_madd(a.raw, b.raw, c.raw)};
#else
  return hn::MulAdd(a, b, c);
#endif
}
template <class V>
HWY_INLINE V fused_neg_mul_add(V a, V b, V c) {
#if HWY_TARGET == HWY_SCALAR
  return V(__builtin_fmaf(-a.raw, b.raw, c.raw));
#elif HWY_TARGET == HWY_WASM && defined(__wasm_relaxed_simd__)
  return V{wasm_f32x4_relaxed_nmadd(a.raw, b.raw, c.raw)};
#else
  return hn::NegMulAdd(a, b, c);
#endif
}

// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace HWY_NAMESPACE
}  // namespace wick
HWY_AFTER_NAMESPACE();

#endif  // WICK_MATH_FUSED_INL_H_
