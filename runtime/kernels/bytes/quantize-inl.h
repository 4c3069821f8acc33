// SIMD bodies of QuantizeLinear and DequantizeLinear for float32 and bytes, once per target.
#if defined(WICK_KERNELS_QUANTIZE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef WICK_KERNELS_QUANTIZE_INL_H_
#undef WICK_KERNELS_QUANTIZE_INL_H_
#else
#define WICK_KERNELS_QUANTIZE_INL_H_
#endif

#include <type_traits>

#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace wick {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using FloatTag = hn::ScalableTag<float>;

// Rounds x / scale to the nearest integer, ties to even, adds the zero point and clamps to T; NaN
// becomes 0 before the zero point is added. The clamp comes first: the integers are below 2^24.
template <class T, class D>
static HWY_INLINE void quantize_lanes(D d, const float* x, float scale, float zero, T* y) {
  const hn::RebindToSigned<D> ints;
  const hn::Rebind<T, decltype(ints)> bytes;
  constexpr float kLo = std::is_signed_v<T> ? -128 : 0, kHi = std::is_signed_v<T> ? 127 : 255;
  auto q = hn::Round(hn::Div(hn::LoadU(d, x), hn::Set(d, scale)));
  q = hn::IfThenElseZero(hn::Eq(q, q), q);
  q = hn::Min(hn::Max(q, hn::Set(d, kLo - zero)), hn::Set(d, kHi - zero));
  const auto whole = hn::ConvertTo(ints, hn::Add(q, hn::Set(d, zero)));
  hn::StoreU(hn::DemoteTo(bytes, whole), bytes, y);
}
template <class T>
static void quantize_of(const float* x, int64_t n, float scale, float zero, void* y) {
  const FloatTag d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  auto* to = static_cast<T*>(y);
  int64_t i = 0;
  for (; i + lanes <= n; i += lanes) quantize_lanes(d, x + i, scale, zero, to + i);
  for (; i < n; ++i) quantize_lanes(hn::CappedTag<float, 1>(), x + i, scale, zero, to + i);
}
static void quantize_bytes(const float* x, int64_t n, float scale, float zero, bool is_signed,
                           void* y) {
  if (is_signed) return quantize_of<int8_t>(x, n, scale, zero, y);
  quantize_of<uint8_t>(x, n, scale, zero, y);
}

template <class T, class D>
static HWY_INLINE void dequantize_lanes(D d, const T* x, float scale, float zero, float* y) {
  const hn::RebindToSigned<D> ints;
  const hn::Rebind<T, decltype(ints)> bytes;
  const auto whole = hn::ConvertTo(d, hn::PromoteTo(ints, hn::LoadU(bytes, x)));
  hn::StoreU(hn::Mul(hn::Sub(whole, hn::Set(d, zero)), hn::Set(d, scale)), d, y);
}
template <class T>
static void dequantize_of(const void* x, int64_t n, float scale, float zero, float* y) {
  const FloatTag d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  const auto* from = static_cast<const T*>(x);
  int64_t i = 0;
  for (; i + lanes <= n; i += lanes) dequantize_lanes(d, from + i, scale, zero, y + i);
  for (; i < n; ++i) dequantize_lanes(hn::CappedTag<float, 1>(), from + i, scale, zero, y + i);
}
static void dequantize_bytes(const void* x, int64_t n, float scale, float zero, bool is_signed,
                             float* y) {
  if (is_signed) return dequantize_of<int8_t>(x, n, scale, zero, y);
  dequantize_of<uint8_t>(x, n, scale, zero, y);
}

// Returns the kernels of the current target.
static const QuantizeKernels* quantize_set() {
  static constexpr QuantizeKernels kSet = {&quantize_bytes, &dequantize_bytes};
  return &kSet;
}

}  // namespace HWY_NAMESPACE
}  // namespace wick
HWY_AFTER_NAMESPACE();

#endif
