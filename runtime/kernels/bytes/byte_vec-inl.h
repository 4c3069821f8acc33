// Converts vectors of bytes to float32 and back by the rounding rule of requantize.h, once per
// target. Bytes are handled as uint8; int8 is converted by flipping the sign bit and adding 128 to
// the zero point.
#if defined(WICK_KERNELS_BYTE_VEC_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef WICK_KERNELS_BYTE_VEC_INL_H_
#undef WICK_KERNELS_BYTE_VEC_INL_H_
#else
#define WICK_KERNELS_BYTE_VEC_INL_H_
#endif

#include "hwy/highway.h"
#include "runtime/kernels/bytes/requantize.h"

HWY_BEFORE_NAMESPACE();
namespace wick {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;
namespace byte_vec {

using Floats = hn::ScalableTag<float>;
using Ints = hn::RebindToSigned<Floats>;
using Words = hn::RebindToUnsigned<Floats>;
using Bytes = hn::Rebind<uint8_t, Floats>;  // with the same number of lanes
using FloatVec = hn::Vec<Floats>;
using IntVec = hn::Vec<Ints>;
using ByteVec = hn::Vec<Bytes>;
constexpr int64_t kVecLanes = static_cast<int64_t>(HWY_LANES(float));

#if HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_AVX3_DL
constexpr bool kMasked = true;  // partial vectors are loaded and stored with masks
#else
constexpr bool kMasked = false;
#endif

// Load the first n of kVecLanes bytes or floats.
template <class D, class T>
HWY_INLINE hn::Vec<D> load_some_of(D d, const T* p, int64_t n) {
  if (n >= kVecLanes) return hn::LoadU(d, p);
  if (kMasked) return hn::MaskedLoad(hn::FirstN(d, static_cast<size_t>(n)), d, p);
  HWY_ALIGN T lanes[kVecLanes] = {};
  for (int64_t i = 0; i < n; ++i) lanes[i] = p[i];
  return hn::Load(d, lanes);
}
HWY_INLINE ByteVec load_some(const uint8_t* p, int64_t n) { return load_some_of(Bytes(), p, n); }
HWY_INLINE FloatVec load_some(const float* p, int64_t n) { return load_some_of(Floats(), p, n); }
HWY_INLINE void store_some(ByteVec v, uint8_t* p, int64_t n) {
  const Bytes d;
  if (n >= kVecLanes) return hn::StoreU(v, d, p);
  if (kMasked) return hn::BlendedStore(v, hn::FirstN(d, static_cast<size_t>(n)), d, p);
  HWY_ALIGN uint8_t lanes[kVecLanes];
  hn::Store(v, d, lanes);
  for (int64_t i = 0; i < n; ++i) p[i] = lanes[i];
}

HWY_INLINE IntVec ints(ByteVec v) { return hn::PromoteTo(Ints(), v); }
HWY_INLINE FloatVec floats(ByteVec v) { return hn::ConvertTo(Floats(), ints(v)); }

HWY_INLINE ByteVec low_bytes(IntVec v) {
#if HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_AVX3_DL
  return ByteVec{_mm512_cvtepi32_epi8(v.raw)};
#else
  return hn::TruncateTo(Bytes(), hn::BitCast(Words(), v));
#endif
}

// The limits and zero point of to_byte().
struct Range {
  FloatVec lo, hi;
  IntVec zero;
  HWY_INLINE explicit Range(const ByteRange& r)
      : lo(hn::Set(Floats(), r.lo)), hi(hn::Set(Floats(), r.hi)), zero(hn::Set(Ints(), r.zero)) {}
  HWY_INLINE ByteVec bytes(FloatVec real) const {
    const FloatVec kept = hn::Min(hn::Max(real, lo), hi);
    return low_bytes(hn::Add(hn::NearestInt(kept), zero));
  }
};

}  // namespace byte_vec
}  // namespace HWY_NAMESPACE
}  // namespace wick
HWY_AFTER_NAMESPACE();

#endif
