// Converts int32 sums to outputs, and reals to bytes, once per target.
#if defined(WICK_KERNELS_BYTE_END_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef WICK_KERNELS_BYTE_END_INL_H_
#undef WICK_KERNELS_BYTE_END_INL_H_
#else
#define WICK_KERNELS_BYTE_END_INL_H_
#endif

#include <cstring>

#include "hwy/highway.h"
#include "runtime/kernels/bytes/byte_tiles-inl.h"

#if HWY_TARGET == HWY_AVX3_DL
// Highway 1.0.3 names another instruction set here; with two attributes Clang uses the first.
HWY_PUSH_ATTRIBUTES(HWY_TARGET_STR ",avx512vnni")
#else
HWY_BEFORE_NAMESPACE();
#endif
namespace wick {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Rounds reals to bytes by the rule of requantize.h.
struct ByteEnd {
  hn::Vec<hn::Rebind<float, ByteTag>> lo, hi;
  ByteVec zero;
};
template <class E>
static HWY_INLINE ByteEnd byte_end(ByteTag d, const E& e) {
  const hn::Rebind<float, ByteTag> reals;
  return {hn::Set(reals, e.lo), hn::Set(reals, e.hi), hn::Set(d, e.zero)};
}
template <class V>
static HWY_INLINE void end_bytes(ByteTag d, V real, const ByteEnd& e, uint8_t* to) {
  const hn::Rebind<uint8_t, ByteTag> bytes;
  const auto whole = hn::Add(hn::NearestInt(hn::Min(hn::Max(real, e.lo), e.hi)), e.zero);
  hn::StoreU(hn::DemoteTo(bytes, hn::And(whole, hn::Set(d, 255))), bytes, to);
}

static HWY_INLINE void put_bytes(const uint8_t* line, uint64_t mask, uint8_t* to) {
  for (int at = 0; mask != 0;) {
    const int skip = __builtin_ctzll(mask);
    mask >>= skip, at += skip;
    const int n = ~mask == 0 ? 64 : __builtin_ctzll(~mask);
    memcpy(to, line + at, static_cast<size_t>(n));
    to += n, at += n;
    mask = n == 64 ? 0 : mask >> n;
  }
}

#if HWY_TARGET == HWY_AVX3_DL
// Stores a row of up to 64 outputs. `whole` returns a vector of rounded numbers, which it has
// clamped from above as reals because they might exceed int32; saturation to int16 and then to
// bytes clamps them from below.
template <class F>
static HWY_INLINE void put_whole(const ByteRowsEnd& e, F whole, uint8_t* y) {
  const __m512i zero = _mm512_set1_epi16(static_cast<int16_t>(e.zero));
  const __m512i ab = _mm512_adds_epi16(_mm512_packs_epi32(whole(0), whole(1)), zero);
  const __m512i cd = _mm512_adds_epi16(_mm512_packs_epi32(whole(2), whole(3)), zero);
  const bool is_signed = e.lo + static_cast<float>(e.zero) < 0;
  __m512i all = is_signed ? _mm512_packs_epi16(ab, cd) : _mm512_packus_epi16(ab, cd);
  all = _mm512_permutexvar_epi32(
      _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15), all);
  const int n = __builtin_popcountll(e.mask);
  const uint64_t first = n == 64 ? ~uint64_t{0} : (uint64_t{1} << n) - 1;
  if (first != e.mask) all = _mm512_maskz_compress_epi8(e.mask, all);
  _mm512_mask_storeu_epi8(y, first, all);
}
#endif

static void end_rows(const ByteRowsEnd& e) {
  const ByteTag d;
  const hn::Rebind<float, ByteTag> reals;
  for (int r = 0; r < e.rows; ++r) {
    const int32_t* sums = e.sums + r * e.sums_step;
    uint8_t* y = e.y + r * e.y_step;
#if HWY_TARGET == HWY_AVX3_DL
    if (e.factor == nullptr) {
      const __m512i add = _mm512_set1_epi32(e.add[r]);
      const __m512 m = _mm512_set1_ps(e.multiplier[r]), hi = _mm512_set1_ps(e.hi);
      const auto whole = [&](int i) HWY_ATTR {
        const __m512i sum = _mm512_add_epi32(_mm512_loadu_si512(sums + 16 * i), add);
        const __m512 real = _mm512_mul_ps(_mm512_cvtepi32_ps(sum), m);
        return _mm512_cvtps_epi32(_mm512_min_ps(real, hi));
      };
      put_whole(e, whole, y);
      continue;
    }
#endif
    const ByteEnd end = byte_end(d, e);
    const auto add = hn::Set(d, e.add[r]);
    const auto m = hn::Set(reals, e.multiplier[r]);
    HWY_ALIGN uint8_t line[kByteColumns + HWY_MAX_BYTES];
    for (int c = 0; c < e.columns; c += kByteLanes) {
      auto sum = hn::Add(hn::LoadU(d, sums + c), add);
      if (e.factor != nullptr)
        sum = hn::Add(sum, hn::Mul(hn::Set(d, e.factor[r]), hn::LoadU(d, e.column_sums + c)));
      end_bytes(d, hn::Mul(hn::ConvertTo(reals, sum), m), end, line + c);
    }
    put_bytes(line, e.mask, y);
  }
}

// Stores the first n lanes of a vector.
template <class D, class V, class T>
static HWY_INLINE void store_first(D d, V v, int n, T* to) {
  if (n >= kByteLanes) return hn::StoreU(v, d, to);
  HWY_ALIGN T line[kByteLanes];
  hn::Store(v, d, line);
  for (int i = 0; i < n; ++i) to[i] = line[i];
}

template <ByteResult kResult>
static HWY_INLINE void end_columns_as(const ByteColumnsEnd& e) {
  const ByteTag d;
  const hn::Rebind<float, ByteTag> reals;
  const ByteEnd end = byte_end(d, e);
  for (int r = 0; r < e.rows; ++r) {
    const int32_t* sums = e.sums + r * e.sums_step;
    for (int c = 0; c < e.columns; c += kByteLanes) {
      auto sum = hn::Add(hn::LoadU(d, sums + c), hn::LoadU(d, e.add + c));
      if (e.factor != nullptr)
        sum = hn::Add(sum, hn::Mul(hn::LoadU(d, e.factor + c), hn::Set(d, e.row_factor[r])));
      const int n = HWY_MIN(kByteLanes, e.columns - c);
      const int64_t at = r * e.y_step + c;
      if constexpr (kResult == ByteResult::kSums) {
        store_first(d, sum, n, static_cast<int32_t*>(e.y) + at);
        continue;
      }
      auto m = hn::LoadU(reals, e.multiplier + c);
      if (e.row_scale != nullptr) m = hn::Mul(hn::Set(reals, e.row_scale[r]), m);
      auto real = hn::Mul(hn::ConvertTo(reals, sum), m);
      if (e.bias != nullptr) real = hn::Add(real, hn::LoadU(reals, e.bias + c));
      if constexpr (kResult == ByteResult::kReals) {
        store_first(reals, real, n, static_cast<float*>(e.y) + at);
      } else {
        auto* y = static_cast<uint8_t*>(e.y) + at;
        if (n == kByteLanes) {
          end_bytes(d, real, end, y);
        } else {
          HWY_ALIGN uint8_t line[HWY_MAX_BYTES];
          end_bytes(d, real, end, line);
          for (int i = 0; i < n; ++i) y[i] = line[i];
        }
      }
    }
  }
}
static void end_columns(const ByteColumnsEnd& e) {
  switch (e.result) {
    case ByteResult::kBytes: return end_columns_as<ByteResult::kBytes>(e);
    case ByteResult::kReals: return end_columns_as<ByteResult::kReals>(e);
    case ByteResult::kSums: return end_columns_as<ByteResult::kSums>(e);
  }
}

// NaN counts as neither smaller nor greater.
template <class V>
static HWY_INLINE V lesser(V v, V low) {
#if HWY_ARCH_X86
  return hn::Min(v, low);  // the second operand where either is NaN
#else
  return hn::IfThenElse(hn::Lt(v, low), v, low);
#endif
}
template <class V>
static HWY_INLINE V greater(V v, V high) {
#if HWY_ARCH_X86
  return hn::Max(v, high);
#else
  return hn::IfThenElse(hn::Gt(v, high), v, high);
#endif
}

static void byte_range_of(const float* x, int64_t n, float* lo, float* hi) {
  const hn::ScalableTag<float> d;
  constexpr int64_t kLanes = kByteLanes;
  auto low0 = hn::Zero(d), low1 = low0, high0 = low0, high1 = low0;
  int64_t i = 0;
  for (; i + 2 * kLanes <= n; i += 2 * kLanes) {
    const auto a = hn::LoadU(d, x + i), b = hn::LoadU(d, x + i + kLanes);
    low0 = lesser(a, low0), high0 = greater(a, high0);
    low1 = lesser(b, low1), high1 = greater(b, high1);
  }
  HWY_ALIGN float both[2][kLanes];
  hn::Store(lesser(low0, low1), d, both[0]);
  hn::Store(greater(high0, high1), d, both[1]);
  float least = 0, most = 0;
  for (int64_t l = 0; l < kLanes; ++l) {
    least = both[0][l] < least ? both[0][l] : least;
    most = both[1][l] > most ? both[1][l] : most;
  }
  for (; i < n; ++i) least = x[i] < least ? x[i] : least, most = x[i] > most ? x[i] : most;
  *lo = least, *hi = most;
}

// Rounds a quotient to an integer. The product with the inverse is within 2^-14 of the quotient, so
// it rounds to the same integer unless it is that close to a tie; only then it divides. With an
// extreme scale, whose inverse is inexact, it always divides.
template <class D>
static HWY_INLINE void quantize_row_lanes(D d, const float* x, float scale, float inverse,
                                          float zero, uint8_t* out) {
  const hn::RebindToSigned<D> ints;
  const hn::Rebind<uint8_t, D> bytes;
  const auto v = hn::LoadU(d, x);
  const auto about = hn::Mul(v, hn::Set(d, inverse));
  auto whole = hn::Round(about);
  const auto apart = hn::Abs(hn::Sub(about, whole));
  if (HWY_UNLIKELY(!hn::AllTrue(d, hn::Le(apart, hn::Set(d, 0.4999f))))) {
    whole = hn::Round(hn::Div(v, hn::Set(d, scale)));
    whole = hn::IfThenElseZero(hn::Eq(whole, whole), whole);  // NaN becomes the zero point
  }
  auto q = hn::Add(whole, hn::Set(d, zero));
  q = hn::Min(hn::Max(q, hn::Zero(d)), hn::Set(d, 255.0f));
  hn::StoreU(hn::DemoteTo(bytes, hn::ConvertTo(ints, q)), bytes, out);
}
#if HWY_TARGET == HWY_AVX3_DL || HWY_TARGET == HWY_AVX3
// Quantizes 64 numbers where no quotient is close to a tie; else returns false. No quotient exceeds
// int32, as the scale comes from the numbers' own range.
static HWY_INLINE bool quantize_64(const float* x, __m512 inverse, __m512i zero, __m512i order,
                                   uint8_t* out) {
  const __m512 most = _mm512_set1_ps(0.4999f);
  __m512 about[4];
  int close = 0;
#pragma GCC unroll 4
  for (int i = 0; i < 4; ++i) {
    about[i] = _mm512_mul_ps(_mm512_loadu_ps(x + 16 * i), inverse);
    const __m512 apart = _mm512_abs_ps(_mm512_reduce_ps(about[i], 8));  // distance from the integer
    close |= _mm512_cmp_ps_mask(apart, most, _CMP_NLE_UQ);              // or NaN
  }
  if (HWY_UNLIKELY(close != 0)) return false;
  const auto pair = [&](int i) HWY_ATTR {
    const __m512i a = _mm512_cvtps_epi32(about[i]), b = _mm512_cvtps_epi32(about[i + 1]);
    return _mm512_adds_epi16(_mm512_packs_epi32(a, b), zero);
  };
  _mm512_storeu_si512(out, _mm512_permutexvar_epi32(order, _mm512_packus_epi16(pair(0), pair(2))));
  return true;
}
#endif
static void quantize_row(const float* x, int64_t n, float scale, float zero, uint8_t* out) {
  const hn::ScalableTag<float> d;
  const bool usual = scale > 0x1p-100f && scale < 0x1p100f;
  const float inverse = usual ? 1 / scale : __builtin_nanf("");
  int64_t i = 0;
#if HWY_TARGET == HWY_AVX3_DL || HWY_TARGET == HWY_AVX3
  const __m512 by = _mm512_set1_ps(inverse);
  const __m512i plus = _mm512_set1_epi16(static_cast<int16_t>(zero));
  const __m512i order = _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
  for (; i + 64 <= n; i += 64) {
    if (HWY_LIKELY(quantize_64(x + i, by, plus, order, out + i))) continue;
    for (int64_t at = i; at < i + 64; at += kByteLanes)
      quantize_row_lanes(d, x + at, scale, inverse, zero, out + at);
  }
#endif
  for (; i + kByteLanes <= n; i += kByteLanes)
    quantize_row_lanes(d, x + i, scale, inverse, zero, out + i);
  for (; i < n; ++i)
    quantize_row_lanes(hn::CappedTag<float, 1>(), x + i, scale, inverse, zero, out + i);
}

}  // namespace HWY_NAMESPACE
}  // namespace wick
HWY_AFTER_NAMESPACE();

#endif
