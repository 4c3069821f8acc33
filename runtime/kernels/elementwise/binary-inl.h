// SIMD bodies of the binary ops, once per target.
#if defined(WICK_KERNELS_BINARY_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef WICK_KERNELS_BINARY_INL_H_
#undef WICK_KERNELS_BINARY_INL_H_
#else
#define WICK_KERNELS_BINARY_INL_H_
#endif

#include "runtime/kernels/math/math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace wick {
namespace HWY_NAMESPACE {
namespace binary {

using simd_math::as_float;
using simd_math::bits;
using simd_math::DF;
using simd_math::F;
using simd_math::select;

// NaN takes precedence; +0 > -0.
HWY_INLINE F max_of(F a, F b) {
  F r = select((a > b) | !(a == a), a, b);
  return select(a == b, as_float(bits(a) & bits(b)), r);
}
HWY_INLINE F min_of(F a, F b) {
  F r = select((a < b) | !(a == a), a, b);
  return select(a == b, as_float(bits(a) | bits(b)), r);
}

// Computes z = f(x, y); a step of 0 repeats one value. Tails go through padded copies.
template <int step_x, int step_y, class Fn>
HWY_INLINE void zip_steps(const float* x, const float* y, float* z, size_t n, Fn f) {
  const DF d;
  const size_t lanes = hn::Lanes(d);
  F vx(n > 0 ? x[0] : 0.0f), vy(n > 0 ? y[0] : 0.0f);
  size_t i = 0;
  for (; i + lanes <= n; i += lanes) {
    if (step_x != 0) vx = F(hn::LoadU(d, x + i));
    if (step_y != 0) vy = F(hn::LoadU(d, y + i));
    hn::StoreU(f(vx, vy).v, d, z + i);
  }
  if (i < n) {
    HWY_ALIGN float bx[hn::MaxLanes(d)] = {}, by[hn::MaxLanes(d)] = {};
    for (size_t j = i; j < n; ++j) {
      bx[j - i] = x[j * step_x];
      by[j - i] = y[j * step_y];
    }
    hn::Store(f(F(hn::Load(d, bx)), F(hn::Load(d, by))).v, d, bx);
    for (size_t j = i; j < n; ++j) z[j] = bx[j - i];
  }
}
template <class Fn>
HWY_INLINE void zip(const float* x, bool repeat_x, const float* y, bool repeat_y, float* z,
                    size_t n, Fn f) {
  if (repeat_x && repeat_y) {
    zip_steps<0, 0>(x, y, z, n, f);
  } else if (repeat_x) {
    zip_steps<0, 1>(x, y, z, n, f);
  } else if (repeat_y) {
    zip_steps<1, 0>(x, y, z, n, f);
  } else {
    zip_steps<1, 1>(x, y, z, n, f);
  }
}

#define X(kind, value)                                                                            \
  static void body_##kind(const float* x, bool repeat_x, const float* y, bool repeat_y, float* z, \
                          size_t n) {                                                             \
    zip(x, repeat_x, y, repeat_y, z, n, [](F p, F q) HWY_ATTR { return value; });                 \
  }
WICK_BINARY_BODIES(X)
#undef X

}  // namespace binary

#define X(kind, value) \
  static BinaryBody find_##kind() { return binary::body_##kind; }
WICK_BINARY_BODIES(X)
#undef X

static BinaryBody binary_of(OpId op) {
  switch (op) {
#define X(kind, value) \
  case OpId::k##kind: return binary::body_##kind;
    WICK_BINARY_BODIES(X)
#undef X
    default: return nullptr;
  }
}
static FindBinary find_binary() { return binary_of; }

}  // namespace HWY_NAMESPACE
}  // namespace wick
HWY_AFTER_NAMESPACE();

#endif
