// SIMD bodies of the unary ops, once per target.
#if defined(WICK_KERNELS_UNARY_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef WICK_KERNELS_UNARY_INL_H_
#undef WICK_KERNELS_UNARY_INL_H_
#else
#define WICK_KERNELS_UNARY_INL_H_
#endif

#include "runtime/kernels/math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace wick {
namespace HWY_NAMESPACE {
namespace unary {

using simd_math::DF;
using simd_math::F;

// f over n elements; the tail goes through a padded copy, so that no lane depends on n.
template <class Fn>
HWY_INLINE void map(const float* x, float* y, size_t n, Fn f) {
  const DF d;
  const size_t lanes = hn::Lanes(d);
  size_t i = 0;
  for (; i + lanes <= n; i += lanes) hn::StoreU(f(F(hn::LoadU(d, x + i))).v, d, y + i);
  if (i < n) {
    HWY_ALIGN float buffer[hn::MaxLanes(d)] = {};
    for (size_t j = i; j < n; ++j) buffer[j - i] = x[j];
    hn::Store(f(F(hn::Load(d, buffer))).v, d, buffer);
    for (size_t j = i; j < n; ++j) y[j] = buffer[j - i];
  }
}

HWY_INLINE F sign(F x) {
  F one = simd_math::select(x > F(0.0f), F(1.0f), F(-1.0f));
  return simd_math::select(x == F(0.0f), F(0.0f), simd_math::select(x == x, one, x));
}

// X(kind, value of v under parameters a and b). CopySign: rounding to zero keeps its sign on every
// target.
#define WICK_UNARY_BODIES(X)                             \
  X(LeakyRelu, simd_math::leaky_relu(v, F(a)))           \
  X(Elu, simd_math::elu(v, F(a)))                        \
  X(Sigmoid, simd_math::sigmoid(v))                      \
  X(Tanh, simd_math::tanh(v))                            \
  X(GeluErf, simd_math::gelu(v))                         \
  X(GeluTanh, simd_math::gelu_tanh(v))                   \
  X(Silu, simd_math::silu(v))                            \
  X(HardSwish, simd_math::hard_swish(v))                 \
  X(HardSigmoid, simd_math::hard_sigmoid(v, F(a), F(b))) \
  X(Softplus, simd_math::softplus(v))                    \
  X(Exp, simd_math::exp(v))                              \
  X(Log, simd_math::log(v))                              \
  X(Sqrt, simd_math::sqrt(v))                            \
  X(Reciprocal, F(1.0f) / v)                             \
  X(Erf, simd_math::erf(v))                              \
  X(Sin, simd_math::sin(v))                              \
  X(Cos, simd_math::cos(v))                              \
  X(Tan, simd_math::tan(v))                              \
  X(Asin, simd_math::asin(v))                            \
  X(Acos, simd_math::acos(v))                            \
  X(Atan, simd_math::atan(v))                            \
  X(Sinh, simd_math::sinh(v))                            \
  X(Cosh, simd_math::cosh(v))                            \
  X(Asinh, simd_math::asinh(v))                          \
  X(Acosh, simd_math::acosh(v))                          \
  X(Atanh, simd_math::atanh(v))                          \
  X(Neg, -v)                                             \
  X(Abs, simd_math::abs(v))                              \
  X(Floor, F(hn::CopySign(hn::Floor(v.v), v.v)))         \
  X(Ceil, F(hn::CopySign(hn::Ceil(v.v), v.v)))           \
  X(Round, F(hn::CopySign(hn::Round(v.v), v.v)))         \
  X(Sign, sign(v))                                       \
  X(Clip, simd_math::clip(v, F(a), F(b)))

#define X(kind, value)                                                                       \
  static void body_##kind(const float* x, float* y, size_t n, [[maybe_unused]] float a,      \
                          [[maybe_unused]] float b) {                                        \
    map(x, y, n,                                                                             \
        [a, b](F v) HWY_ATTR { return static_cast<void>(a), static_cast<void>(b), value; }); \
  }
WICK_UNARY_BODIES(X)
#undef X

}  // namespace unary

static UnaryBody unary_body(UnaryKind kind) {
  static constexpr UnaryBody kBodies[] = {
#define X(kind, value) unary::body_##kind,
      WICK_UNARY_BODIES(X)
#undef X
  };
  return kBodies[static_cast<int>(kind)];
}

#undef WICK_UNARY_BODIES

}  // namespace HWY_NAMESPACE
}  // namespace wick
HWY_AFTER_NAMESPACE();

#endif
