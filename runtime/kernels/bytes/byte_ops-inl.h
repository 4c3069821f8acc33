// SIMD bodies of the byte operators that work element by element or row by row, once per target.
#if defined(WICK_KERNELS_BYTE_OPS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef WICK_KERNELS_BYTE_OPS_INL_H_
#undef WICK_KERNELS_BYTE_OPS_INL_H_
#else
#define WICK_KERNELS_BYTE_OPS_INL_H_
#endif

#include "runtime/kernels/bytes/byte_vec-inl.h"
#include "runtime/kernels/math/math-inl.h"
#include "runtime/kernels/reduce/reduce-inl.h"

HWY_BEFORE_NAMESPACE();
namespace wick {
namespace HWY_NAMESPACE {
namespace byte_ops {

using namespace byte_vec;  // NOLINT: shared by these files

struct Sum {
  FloatVec a, b;
  HWY_INLINE explicit Sum(const ByteZip& z)
      : a(hn::Set(Floats(), z.a)), b(hn::Set(Floats(), z.b)) {}
  HWY_INLINE FloatVec left(FloatVec x) const { return hn::Mul(x, a); }
  HWY_INLINE FloatVec right(FloatVec y) const { return hn::Mul(y, b); }
  HWY_INLINE FloatVec value(FloatVec x, FloatVec y) const { return hn::Add(x, y); }
};
struct Product {  // integers of 17 bits, exact as floats
  FloatVec m;
  HWY_INLINE explicit Product(const ByteZip& z) : m(hn::Set(Floats(), z.a)) {}
  HWY_INLINE FloatVec left(FloatVec x) const { return x; }
  HWY_INLINE FloatVec right(FloatVec y) const { return y; }
  HWY_INLINE FloatVec value(FloatVec x, FloatVec y) const { return hn::Mul(hn::Mul(x, y), m); }
};

#if HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_AVX3_DL
// 64 elements at a time, clamped to bytes by the saturating pack instructions: rounding and
// clamping to integers commute where no number exceeds int32.
struct Four {
  FloatVec v[4];
};
template <bool is_signed>
HWY_INLINE Four sixty_four(const uint8_t* p, FloatVec zero) {
  Four r;
#pragma GCC unroll 4
  for (int i = 0; i < 4; ++i) {
    const __m128i x = _mm_loadu_si128(reinterpret_cast<const __m128i*>(p + 16 * i));
    const IntVec wide{is_signed ? _mm512_cvtepi8_epi32(x) : _mm512_cvtepu8_epi32(x)};
    r.v[i] = hn::Sub(hn::ConvertTo(Floats(), wide), zero);
  }
  return r;
}
HWY_INLINE void store_packed(const Four& real, __m512i zero, __m512i flip, uint8_t* to) {
  const auto whole = [&](int i) HWY_ATTR { return hn::NearestInt(real.v[i]).raw; };
  const __m512i low = _mm512_adds_epi16(_mm512_packs_epi32(whole(0), whole(1)), zero);
  const __m512i high = _mm512_adds_epi16(_mm512_packs_epi32(whole(2), whole(3)), zero);
  const __m512i order = _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
  const __m512i bytes = _mm512_permutexvar_epi32(order, _mm512_packus_epi16(low, high));
  _mm512_storeu_si512(to, _mm512_xor_si512(bytes, flip));
}
template <class Op, int step_x, int step_y, bool signed_x, bool signed_y>
HWY_INLINE int64_t zip_packed(const ByteZip& t, const uint8_t* x, const uint8_t* y, uint8_t* z,
                              int64_t n) {
  const Op op(t);
  // Bytes are used as they are: int8 needs no flipped sign bit here.
  const FloatVec zero_x = hn::Set(Floats(), t.a_zero - (signed_x ? 128 : 0));
  const FloatVec zero_y = hn::Set(Floats(), t.b_zero - (signed_y ? 128 : 0));
  const uint8_t flip = t.to.lo + static_cast<float>(t.to.zero) < 0 ? 0x80 : 0;
  const __m512i zero = _mm512_set1_epi16(static_cast<short>(t.to.zero + flip));  // NOLINT: its type
  const __m512i flips = _mm512_set1_epi8(static_cast<char>(flip));
  const auto one = [](const uint8_t* p, bool is_signed) {
    return hn::Set(Floats(), is_signed ? static_cast<float>(static_cast<int8_t>(p[0]))
                                       : static_cast<float>(p[0]));
  };
  const FloatVec left = op.left(hn::Sub(one(x, signed_x), zero_x));
  const FloatVec right = op.right(hn::Sub(one(y, signed_y), zero_y));
  int64_t i = 0;
  for (; i + 64 <= n; i += 64) {
    Four a, b, real;
    if (step_x != 0) a = sixty_four<signed_x>(x + i, zero_x);
    if (step_y != 0) b = sixty_four<signed_y>(y + i, zero_y);
#pragma GCC unroll 4
    for (int v = 0; v < 4; ++v) {
      real.v[v] =
          op.value(step_x != 0 ? op.left(a.v[v]) : left, step_y != 0 ? op.right(b.v[v]) : right);
    }
    store_packed(real, zero, flips, z + i);
  }
  return i;
}
template <class Op, int step_x, int step_y>
HWY_INLINE int64_t zip_whole(const ByteZip& t, const uint8_t* x, const uint8_t* y, uint8_t* z,
                             int64_t n) {
  constexpr float kMost = 1 << 10;  // times 2^17 and another operand: below 2^31
  if (n < 64 || !(t.a < kMost && t.b < kMost)) return 0;
  if (t.a_flip != 0 && t.b_flip != 0)
    return zip_packed<Op, step_x, step_y, true, true>(t, x, y, z, n);
  if (t.a_flip == 0 && t.b_flip == 0)
    return zip_packed<Op, step_x, step_y, false, false>(t, x, y, z, n);
  return 0;
}
#else
template <class Op, int step_x, int step_y>
HWY_INLINE int64_t zip_whole(const ByteZip&, const uint8_t*, const uint8_t*, uint8_t*, int64_t) {
  return 0;
}
#endif

// A step of 0 repeats one value.
template <class Op, int step_x, int step_y>
HWY_INLINE void zip_steps(const ByteZip& t, const uint8_t* x, const uint8_t* y, uint8_t* z,
                          int64_t n) {
  const int64_t done = zip_whole<Op, step_x, step_y>(t, x, y, z, n);
  if (done == n) return;
  const Op op(t);
  const Range range(t.to);
  const FloatVec zero_x = hn::Set(Floats(), t.a_zero), zero_y = hn::Set(Floats(), t.b_zero);
  const ByteVec flip_x = hn::Set(Bytes(), t.a_flip), flip_y = hn::Set(Bytes(), t.b_flip);
  const auto left = [&](ByteVec v)
                        HWY_ATTR { return op.left(hn::Sub(floats(hn::Xor(v, flip_x)), zero_x)); };
  const auto right = [&](ByteVec v)
                         HWY_ATTR { return op.right(hn::Sub(floats(hn::Xor(v, flip_y)), zero_y)); };
  FloatVec vx = left(hn::Set(Bytes(), x[0])), vy = right(hn::Set(Bytes(), y[0]));
  for (int64_t i = done; i < n; i += kVecLanes) {
    const int64_t some = n - i < kVecLanes ? n - i : kVecLanes;
    if (step_x != 0) vx = left(load_some(x + i, some));
    if (step_y != 0) vy = right(load_some(y + i, some));
    store_some(range.bytes(op.value(vx, vy)), z + i, some);
  }
}
template <class Op>
static void zip(const ByteZip& t, const uint8_t* x, bool repeat_x, const uint8_t* y, bool repeat_y,
                uint8_t* z, int64_t n) {
  if (n <= 0) return;
  if (!repeat_x && !repeat_y) return zip_steps<Op, 1, 1>(t, x, y, z, n);
  if (repeat_x && !repeat_y) return zip_steps<Op, 0, 1>(t, x, y, z, n);
  if (repeat_y && !repeat_x) return zip_steps<Op, 1, 0>(t, x, y, z, n);
  zip_steps<Op, 0, 0>(t, x, y, z, n);
}

// y[i] = table[x[i]]; y may be x.
static void look_up(const uint8_t* x, int64_t n, const uint8_t* table, uint8_t* y) {
  int64_t i = 0;
#if HWY_TARGET == HWY_AVX3_DL
  const __m512i a = _mm512_loadu_si512(table), b = _mm512_loadu_si512(table + 64);
  const __m512i c = _mm512_loadu_si512(table + 128), d = _mm512_loadu_si512(table + 192);
  for (; i < n; i += 64) {
    const __mmask64 some = n - i >= 64 ? ~__mmask64{0} : (__mmask64{1} << (n - i)) - 1;
    const __m512i at = _mm512_maskz_loadu_epi8(some, x + i);
    const __m512i low = _mm512_permutex2var_epi8(a, at, b),
                  high = _mm512_permutex2var_epi8(c, at, d);
    _mm512_mask_storeu_epi8(y + i, some,
                            _mm512_mask_blend_epi8(_mm512_movepi8_mask(at), low, high));
  }
#endif
  for (; i < n; ++i) y[i] = table[x[i]];
}

// y[i] = PRelu of x[i]; slope holds n numbers, or one for all. y may be x.
static void prelu(const BytePRelu& t, uint8_t flip, const uint8_t* x, const float* slope,
                  bool repeat_slope, uint8_t* y, int64_t n) {
  if (n <= 0) return;
  const Floats d;
  const Range range(t.to);
  const FloatVec zero = hn::Set(d, static_cast<float>(t.x_zero + flip)),
                 scale = hn::Set(d, t.x_scale), y_scale = hn::Set(d, t.y_scale);
  const ByteVec flips = hn::Set(Bytes(), flip);
  const auto value = [&](ByteVec v, FloatVec by) HWY_ATTR {
    const FloatVec real = hn::Mul(hn::Sub(floats(hn::Xor(v, flips)), zero), scale);
    const FloatVec kept = hn::IfThenElse(hn::Lt(real, hn::Zero(d)), hn::Mul(real, by), real);
    const FloatVec steps = hn::Div(kept, y_scale);
    return range.bytes(hn::IfThenElseZero(hn::Eq(steps, steps), steps));
  };
  const FloatVec one = hn::Set(d, slope[0]);
#if HWY_TARGET == HWY_AVX3_DL
  constexpr int64_t kLong = 1024;  // bytes: from here on a table of all 256 is faster
  if (repeat_slope && n >= kLong) {
    HWY_ALIGN uint8_t table[256];
    for (int i = 0; i < 256; ++i) table[i] = static_cast<uint8_t>(i);
    for (int64_t i = 0; i < 256; i += kVecLanes)
      store_some(value(load_some(table + i, kVecLanes), one), table + i, kVecLanes);
    return look_up(x, n, table, y);
  }
#endif
  for (int64_t i = 0; i < n; i += kVecLanes) {
    const int64_t some = n - i < kVecLanes ? n - i : kVecLanes;
    const FloatVec by = repeat_slope ? one : load_some(slope + i, some);
    store_some(value(load_some(x + i, some), by), y + i, some);
  }
}

// Softmax of rows of n bytes; exps[i] = e^(-i scale).
static void softmax(const uint8_t* x, int64_t rows, int64_t n, const float* exps, float y_scale,
                    uint8_t flip, const ByteRange& to, uint8_t* y) {
  constexpr int64_t kPart = 256;  // the exponentials kept at a time; also their greatest number
  const Range range(to);
  const FloatVec scale = hn::Set(Floats(), y_scale);
  HWY_ALIGN float e[kPart];
  HWY_ALIGN uint8_t shares[kPart], table[kPart];
  for (int64_t r = 0; r < rows; ++r, x += n, y += n) {
    uint8_t largest = 0;
    for (int64_t i = 0; i < n; ++i) largest = HWY_MAX(largest, static_cast<uint8_t>(x[i] ^ flip));
    largest ^= flip;
    reduce::VectorSum sum;
    for (int64_t from = 0; from < n; from += kPart) {
      const int64_t count = n - from < kPart ? n - from : kPart;
      for (int64_t i = 0; i < count; ++i) e[i] = exps[static_cast<uint8_t>(largest - x[from + i])];
      sum.add(e, count);
    }
    const FloatVec total = hn::Set(Floats(), sum.finish());
    const auto share = [&](const float* of, int64_t count, uint8_t* to_bytes) HWY_ATTR {
      for (int64_t i = 0; i < count; i += kVecLanes) {
        const FloatVec part = hn::Div(hn::Load(Floats(), of + i), total);
        store_some(range.bytes(hn::Div(part, scale)), to_bytes + i, count - i);
      }
    };
    if (n < kPart) {
      for (int64_t i = n; i % kVecLanes != 0; ++i) e[i] = 0;
      share(e, n, y);
      continue;
    }
    share(exps, kPart, shares);
    for (int i = 0; i < kPart; ++i) table[i] = shares[static_cast<uint8_t>(largest - i)];
    look_up(x, n, table, y);
  }
}
template <Edition edition>
static void exps_of(float scale, float* exps) {
  for (int i = 0; i < 256; i += static_cast<int>(kVecLanes)) {
    const FloatVec at =
        hn::ConvertTo(Floats(), hn::Iota(Ints(), -i - static_cast<int>(kVecLanes) + 1));
    const FloatVec value =
        simd_math::exp_in<edition>(simd_math::F(hn::Mul(at, hn::Set(Floats(), scale)))).v;
    HWY_ALIGN float turned[kVecLanes];
    hn::Store(value, Floats(), turned);
    for (int64_t j = 0; j < kVecLanes; ++j) exps[i + j] = turned[kVecLanes - 1 - j];
  }
}

}  // namespace byte_ops

// One dispatch table per op: a program links the bodies of its own ops only.
static ByteZipBody find_byte_sum() { return byte_ops::zip<byte_ops::Sum>; }
static ByteZipBody find_byte_product() { return byte_ops::zip<byte_ops::Product>; }
static BytePReluBody find_byte_prelu() { return byte_ops::prelu; }
static ByteTableBody find_byte_table() { return byte_ops::look_up; }
template <Edition edition>
constexpr ByteSoftmax kByteSoftmax = {&byte_ops::exps_of<edition>, &byte_ops::softmax};
static const ByteSoftmax* find_byte_softmax(Edition edition) {
  return is_first(edition) ? &kByteSoftmax<Edition::k1> : &kByteSoftmax<kNewestEdition>;
}

}  // namespace HWY_NAMESPACE
}  // namespace wick
HWY_AFTER_NAMESPACE();

#endif
