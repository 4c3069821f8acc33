// The functions of math-inl.h over arrays, for every SIMD target.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tests/kernels/math_simd.cc"
#include "hwy/foreach_target.h"
// foreach_target must come first
#include "runtime/kernels/math/math-inl.h"
#include "tests/kernels/math_table.h"

HWY_BEFORE_NAMESPACE();
namespace wick {
namespace HWY_NAMESPACE {

// f is given vectors; the tail goes through a padded copy.
template <class Fn>
HWY_INLINE void map(const float* x, float* y, size_t n, Fn f) {
  using simd_math::DF;
  using simd_math::F;
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

#define X(name, bound, unfused)                                               \
  void array_##name(const float* x, float* y, size_t n) {                     \
    map(x, y, n, [](simd_math::F v) HWY_ATTR { return simd_math::name(v); }); \
  }
WICK_MATH_UNARY(X)
#undef X

void array_pow(const float* x, const float* y, float* z, size_t n) {
  using simd_math::DF;
  using simd_math::F;
  const DF d;
  const size_t lanes = hn::Lanes(d);
  for (size_t i = 0; i + lanes <= n; i += lanes) {  // callers pass whole vectors
    hn::StoreU(simd_math::pow(F(hn::LoadU(d, x + i)), F(hn::LoadU(d, y + i))).v, d, z + i);
  }
}

test::ArrayFn find_math(test::MathId id) {
  switch (id) {
#define X(name, bound, unfused) \
  case test::MathId::k_##name: return array_##name;
    WICK_MATH_UNARY(X)
#undef X
    case test::MathId::kCount: break;
  }
  return nullptr;
}

test::ArrayFn2 find_pow() { return array_pow; }

}  // namespace HWY_NAMESPACE
}  // namespace wick
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace wick {
HWY_EXPORT(find_math);
HWY_EXPORT(find_pow);

namespace test {
ArrayFn simd_math(MathId id) { return HWY_DYNAMIC_DISPATCH(find_math)(id); }
ArrayFn2 simd_pow() { return HWY_DYNAMIC_DISPATCH(find_pow)(); }
}  // namespace test
}  // namespace wick
#endif
