// SIMD bodies of the unary ops, once per target.
#if defined(WICK_KERNELS_UNARY_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef WICK_KERNELS_UNARY_INL_H_
#undef WICK_KERNELS_UNARY_INL_H_
#else
#define WICK_KERNELS_UNARY_INL_H_
#endif

#include "runtime/kernels/math/math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace wick {
namespace HWY_NAMESPACE {
namespace unary {

using simd_math::DF;
using simd_math::F;

// Applies f to n elements; the tail goes through a padded copy, so that no lane depends on n.
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

#define WICK_UNARY_BODY(kind, value)                                                         \
  static void body_##kind(const float* x, float* y, size_t n, [[maybe_unused]] float a,      \
                          [[maybe_unused]] float b) {                                        \
    map(x, y, n,                                                                             \
        [a, b](F v) HWY_ATTR { return static_cast<void>(a), static_cast<void>(b), value; }); \
  }
#define X(kind, value) WICK_UNARY_BODY(kind, value)
WICK_UNARY_BODIES(X)
#undef X
#define X(kind, value)       \
  template <Edition edition> \
  WICK_UNARY_BODY(kind, value)
WICK_UNARY_BODIES_BY_EDITION(X)
#undef X
#undef WICK_UNARY_BODY

}  // namespace unary

#define X(kind, value) \
  static UnaryBody find_##kind(Edition) { return unary::body_##kind; }
WICK_UNARY_BODIES(X)
#undef X
#define X(kind, value)                                             \
  static UnaryBody find_##kind(Edition edition) {                  \
    return is_first(edition) ? unary::body_##kind<Edition::k1>     \
                             : unary::body_##kind<kNewestEdition>; \
  }
WICK_UNARY_BODIES_BY_EDITION(X)
#undef X

static UnaryBody unary_of(OpId op, bool flag, Edition edition) {
  if (op == OpId::kGelu) return flag ? find_GeluTanh(edition) : find_GeluErf(edition);
  switch (op) {
#define X(kind, value) \
  case OpId::k##kind: return find_##kind(edition);
    WICK_UNARY_OP_BODIES(X)
    WICK_UNARY_OP_BODIES_BY_EDITION(X)
#undef X
    default: return nullptr;
  }
}
static FindUnary find_unary() { return unary_of; }

}  // namespace HWY_NAMESPACE
}  // namespace wick
HWY_AFTER_NAMESPACE();

#endif
