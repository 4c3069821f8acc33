// SIMD bodies of byte_tiles.h, once per target.
#if defined(WICK_KERNELS_BYTE_TILES_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef WICK_KERNELS_BYTE_TILES_INL_H_
#undef WICK_KERNELS_BYTE_TILES_INL_H_
#else
#define WICK_KERNELS_BYTE_TILES_INL_H_
#endif

#include <cstring>

#include "hwy/highway.h"
#include "runtime/kernels/byte_tiles.h"

HWY_BEFORE_NAMESPACE();
#if HWY_TARGET == HWY_AVX3_DL
// Highway 1.0.3 names another instruction set in this one's place.
HWY_PUSH_ATTRIBUTES(HWY_TARGET_STR ",avx512vnni")
#endif
namespace wick {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using ByteTag = hn::ScalableTag<int32_t>;
using ByteVec = hn::Vec<ByteTag>;
constexpr int kByteLanes = static_cast<int>(HWY_LANES(int32_t));

#if HWY_TARGET == HWY_AVX3_DL
// Four products of a byte without a sign and one with one; no sum of theirs saturates.
constexpr int kPerWord = 4;
struct WordOperand {
  ByteVec v;
};
static HWY_INLINE WordOperand word_operand(ByteTag, ByteVec v) { return {v}; }
template <bool kXRows>
static HWY_INLINE ByteVec add_words(ByteTag, WordOperand row, WordOperand column, ByteVec sum) {
  const __m512i x = kXRows ? row.v.raw : column.v.raw, w = kXRows ? column.v.raw : row.v.raw;
  return ByteVec{_mm512_dpbusd_epi32(sum.raw, x, w)};
}
#elif HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_SSE4
constexpr int kPerWord = 2;
struct WordOperand {
  ByteVec v;
};
static HWY_INLINE WordOperand word_operand(ByteTag, ByteVec v) { return {v}; }
template <bool kXRows>
static HWY_INLINE ByteVec add_words(ByteTag d, WordOperand row, WordOperand column, ByteVec sum) {
  const hn::Repartition<int16_t, ByteTag> d16;
  ByteVec unused = hn::Zero(d);  // x86 adds both products to the first sum
  return hn::ReorderWidenMulAccumulate(d, hn::BitCast(d16, row.v), hn::BitCast(d16, column.v), sum,
                                       unused);
}
#else
constexpr int kPerWord = 2;
struct WordOperand {
  ByteVec even, odd;
};
static HWY_INLINE WordOperand word_operand(ByteTag, ByteVec v) {
  return {hn::ShiftRight<16>(hn::ShiftLeft<16>(v)), hn::ShiftRight<16>(v)};
}
template <bool kXRows>
static HWY_INLINE ByteVec add_words(ByteTag, WordOperand row, WordOperand column, ByteVec sum) {
  return hn::Add(hn::Add(sum, hn::Mul(row.even, column.even)), hn::Mul(row.odd, column.odd));
}
#endif

// Each lane's two products of int16 added to its sum.
template <class D, class V16, class V32>
static HWY_INLINE V32 add_tap_pairs(D d, V16 a, V16 b, V32 sum) {
#if HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_SSE4
  V32 unused = hn::Zero(d);
  return hn::ReorderWidenMulAccumulate(d, a, b, sum, unused);
#else
  const auto a32 = hn::BitCast(d, a), b32 = hn::BitCast(d, b);
  const auto low = [](V32 v) HWY_ATTR { return hn::ShiftRight<16>(hn::ShiftLeft<16>(v)); };
  const auto even = hn::Mul(low(a32), low(b32));
  return hn::Add(hn::Add(sum, even), hn::Mul(hn::ShiftRight<16>(a32), hn::ShiftRight<16>(b32)));
#endif
}

constexpr int kByteVectors = 2;

// A tile of few rows has several sums of each element, which do not wait for each other.
template <int R, bool kXRows, bool kTable>
static HWY_NOINLINE void byte_tile_of(const ByteTile& t) {
  constexpr int kChains = kTable || R > 2 ? 1 : R == 2 ? 2 : 4;
  const ByteTag d;
  ByteVec sum[kChains][R][kByteVectors];
#pragma GCC unroll 4
  for (int u = 0; u < kChains; ++u) {
#pragma GCC unroll 8
    for (int r = 0; r < R; ++r) {
#pragma GCC unroll 2
      for (int v = 0; v < kByteVectors; ++v) sum[u][r][v] = hn::Zero(d);
    }
  }
  const auto* rows = reinterpret_cast<const int32_t*>(t.rows);
  const auto* columns = reinterpret_cast<const int32_t*>(t.columns);
  const int32_t* offset = t.offset;
  int64_t words = t.words;
  for (; words >= kChains; words -= kChains) {
#pragma GCC unroll 4
    for (int u = 0; u < kChains; ++u) {
      const int32_t* from = kTable ? columns + *offset++ : columns;
      const WordOperand b0 = word_operand(d, hn::LoadU(d, from));
      const WordOperand b1 = word_operand(d, hn::LoadU(d, from + kByteLanes));
#pragma GCC unroll 8
      for (int r = 0; r < R; ++r) {
        const WordOperand a = word_operand(d, hn::Set(d, rows[r]));
        sum[u][r][0] = add_words<kXRows>(d, a, b0, sum[u][r][0]);
        sum[u][r][1] = add_words<kXRows>(d, a, b1, sum[u][r][1]);
      }
      rows += R;
      if (!kTable) columns += t.step;
    }
  }
  for (; words > 0; --words, rows += R, columns += t.step) {  // of several chains
    const WordOperand b0 = word_operand(d, hn::LoadU(d, columns));
    const WordOperand b1 = word_operand(d, hn::LoadU(d, columns + kByteLanes));
#pragma GCC unroll 8
    for (int r = 0; r < R; ++r) {
      const WordOperand a = word_operand(d, hn::Set(d, rows[r]));
      sum[0][r][0] = add_words<kXRows>(d, a, b0, sum[0][r][0]);
      sum[0][r][1] = add_words<kXRows>(d, a, b1, sum[0][r][1]);
    }
  }
#pragma GCC unroll 8
  for (int r = 0; r < R; ++r) {
#pragma GCC unroll 2
    for (int v = 0; v < kByteVectors; ++v) {
      ByteVec all = sum[0][r][v];
#pragma GCC unroll 4
      for (int u = 1; u < kChains; ++u) all = hn::Add(all, sum[u][r][v]);
      hn::StoreU(all, d, t.sums + r * t.sums_step + v * kByteLanes);
    }
  }
}

template <bool kXRows>
static void byte_tile(const ByteTile& t) {
  if (t.offset != nullptr) {
    switch (t.row_count) {
      case 8: return byte_tile_of<8, kXRows, true>(t);
      case 4: return byte_tile_of<4, kXRows, true>(t);
      case 2: return byte_tile_of<2, kXRows, true>(t);
      default: return byte_tile_of<1, kXRows, true>(t);
    }
  }
  switch (t.row_count) {
    case 8: return byte_tile_of<8, kXRows, false>(t);
    case 4: return byte_tile_of<4, kXRows, false>(t);
    case 2: return byte_tile_of<2, kXRows, false>(t);
    default: return byte_tile_of<1, kXRows, false>(t);
  }
}

#if HWY_TARGET == HWY_AVX3_DL
static void byte_zip(const uint8_t* const* rows, int64_t n, uint8_t flip, bool, uint32_t* out) {
  alignas(64) uint8_t order[64];
  for (int i = 0; i < 64; ++i) order[i] = static_cast<uint8_t>(i % 4 * 16 + i / 4);
  const __m512i by = _mm512_load_si512(order), off = _mm512_set1_epi8(static_cast<char>(flip));
  const uint8_t *a = rows[0], *b = rows[1], *c = rows[2], *d = rows[3];
  const auto words = [&](__m128i a16, __m128i b16, __m128i c16, __m128i d16) HWY_ATTR {
    __m512i all = _mm512_castsi128_si512(a16);
    all = _mm512_inserti32x4(all, b16, 1);
    all = _mm512_inserti32x4(all, c16, 2);
    all = _mm512_inserti32x4(all, d16, 3);
    return _mm512_xor_si512(_mm512_permutexvar_epi8(by, all), off);
  };
  const auto load = [](const uint8_t* p)
                        HWY_ATTR { return _mm_loadu_si128(reinterpret_cast<const __m128i*>(p)); };
  int64_t i = 0;
  for (; i + 16 <= n; i += 16)
    _mm512_storeu_si512(out + i, words(load(a + i), load(b + i), load(c + i), load(d + i)));
  if (i == n) return;
  const auto some = static_cast<__mmask16>((1u << (n - i)) - 1);
  const auto part = [&](const uint8_t* p) HWY_ATTR { return _mm_maskz_loadu_epi8(some, p + i); };
  _mm512_mask_storeu_epi32(out + i, some, words(part(a), part(b), part(c), part(d)));
}
#else
template <class T>
static void zip_pairs(const uint8_t* even, const uint8_t* odd, int64_t n, uint8_t flip,
                      uint32_t* out) {
  int64_t i = 0;
#if HWY_TARGET != HWY_SCALAR
  const hn::CappedTag<int16_t, 16> d16;
  const hn::Rebind<uint8_t, decltype(d16)> d8;
  const hn::Rebind<T, decltype(d16)> kind;
  const auto off = hn::Set(d8, flip);
  const auto lanes = static_cast<int64_t>(hn::Lanes(d8));
  auto* to = reinterpret_cast<int16_t*>(out);
  for (; i + lanes <= n; i += lanes) {
    const auto a = hn::Xor(hn::LoadU(d8, even + i), off);
    const auto b = hn::Xor(hn::LoadU(d8, odd + i), off);
    const auto low = hn::InterleaveLower(d8, a, b), high = hn::InterleaveUpper(d8, a, b);
    hn::StoreU(hn::PromoteTo(d16, hn::BitCast(kind, low)), d16, to + 2 * i);
    hn::StoreU(hn::PromoteTo(d16, hn::BitCast(kind, high)), d16, to + 2 * i + lanes);
  }
#endif
  for (; i < n; ++i) {
    const auto a = static_cast<uint16_t>(static_cast<T>(even[i] ^ flip));
    const auto b = static_cast<uint16_t>(static_cast<T>(odd[i] ^ flip));
    out[i] = a | static_cast<uint32_t>(b) << 16;
  }
}
static void byte_zip(const uint8_t* const* rows, int64_t n, uint8_t flip, bool weights,
                     uint32_t* out) {
  if (weights) return zip_pairs<int8_t>(rows[0], rows[1], n, flip, out);
  zip_pairs<uint8_t>(rows[0], rows[1], n, flip, out);
}
#endif

// Whole numbers from reals: the rule of requantize.h.
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
// Of a row of 64 sums, `whole` gives a vector's numbers, cut above as reals, because they might be
// beyond int32. Saturation to int16 and then to bytes cuts below.
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

#if HWY_TARGET == HWY_AVX3_DL
// A vector of 64 bytes of x holds the taps of 16 pixels; they are brought side by side.
template <int kVectors, int kWords>
static HWY_INLINE void depthwise_block(const ByteDepthwise& t, const ByteBlock& b, ByteRowsEnd& e,
                                       __m512i by, __m512i add, __m512 m, __m512 hi,
                                       int32_t* sums) {
  __m512i sum[kVectors];
#pragma GCC unroll 4
  for (int v = 0; v < kVectors; ++v) sum[v] = add;
  const int64_t step = 16 * t.stride, words = kWords > 0 ? kWords : t.words;
#pragma GCC unroll 3
  for (int64_t i = 0; i < words; ++i) {
    const __m512i w = _mm512_set1_epi32(static_cast<int32_t>(t.weights[i]));
    const uint8_t* x = t.x + b.x + t.offset[i];
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v) {
      const __m512i taps = _mm512_permutexvar_epi8(by, _mm512_loadu_si512(x + v * step));
      sum[v] = _mm512_dpbusd_epi32(sum[v], taps, w);
    }
  }
  if (sums != nullptr) {
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v) _mm512_storeu_si512(sums + 16 * v, sum[v]);
    return;
  }
  e.mask = b.mask;
  const auto whole = [&](int v) HWY_ATTR {
    if (v >= kVectors) return _mm512_setzero_si512();
    return _mm512_cvtps_epi32(_mm512_min_ps(_mm512_mul_ps(_mm512_cvtepi32_ps(sum[v]), m), hi));
  };
  put_whole(e, whole, e.y + b.y);
}
template <int kWords>
static HWY_NOINLINE void depthwise_blocks(const ByteDepthwise& t) {
  const __m512i by = _mm512_loadu_si512(t.quads);
  ByteRowsEnd e = t.end;
  int32_t* sums = t.sums;
  const bool finish = sums == nullptr;
  const __m512i add = _mm512_set1_epi32(finish ? *e.add : 0);
  const __m512 m = _mm512_set1_ps(finish ? *e.multiplier : 0), hi = _mm512_set1_ps(e.hi);
  for (int64_t i = 0; i < t.block_count; ++i) {
    const ByteBlock& b = t.blocks[i];
    switch ((b.columns + 15) / 16) {
      case 1: depthwise_block<1, kWords>(t, b, e, by, add, m, hi, sums); break;
      case 2: depthwise_block<2, kWords>(t, b, e, by, add, m, hi, sums); break;
      case 3: depthwise_block<3, kWords>(t, b, e, by, add, m, hi, sums); break;
      default: depthwise_block<4, kWords>(t, b, e, by, add, m, hi, sums);
    }
    if (!finish) sums += kByteColumns;
  }
}
static void byte_depthwise(const ByteDepthwise& t) {
  if (t.words == 3) return depthwise_blocks<3>(t);
  depthwise_blocks<0>(t);
}
#else
static HWY_INLINE void depthwise_sums(const ByteDepthwise& t, const ByteBlock& b, int32_t* to) {
  const uint8_t* x = t.x + b.x;
#if HWY_TARGET == HWY_SCALAR
  for (int c = 0; c < b.columns; ++c) {
    uint32_t sum = 0;
    for (int64_t i = 0; i < t.words; ++i) {
      const auto low = static_cast<int16_t>(t.weights[i] & 0xFFFF);
      const auto high = static_cast<int16_t>(t.weights[i] >> 16);
      sum +=
          static_cast<uint32_t>(x[t.offset[2 * i] + c] * low + x[t.offset[2 * i + 1] + c] * high);
    }
    to[c] = static_cast<int32_t>(sum);
  }
#else
  const hn::CappedTag<int32_t, 8> d;  // blocks of 16 bytes, which interleaving keeps apart
  const hn::Repartition<int16_t, decltype(d)> d16;
  const hn::Rebind<uint8_t, decltype(d16)> d8;
  constexpr int kLanes = HWY_MIN(8, kByteLanes);
  for (int c = 0; c < b.columns; c += 2 * kLanes) {
    auto sum0 = hn::Zero(d), sum1 = hn::Zero(d);
    for (int64_t i = 0; i < t.words; ++i) {
      const auto even = hn::LoadU(d8, x + t.offset[2 * i] + c);
      const auto odd = hn::LoadU(d8, x + t.offset[2 * i + 1] + c);
      const auto w = hn::BitCast(d16, hn::Set(d, static_cast<int32_t>(t.weights[i])));
      const auto low = hn::PromoteTo(d16, hn::InterleaveLower(d8, even, odd));
      const auto high = hn::PromoteTo(d16, hn::InterleaveUpper(d8, even, odd));
      sum0 = add_tap_pairs(d, low, w, sum0);
      sum1 = add_tap_pairs(d, high, w, sum1);
    }
    hn::StoreU(sum0, d, to + c);
    hn::StoreU(sum1, d, to + c + kLanes);
  }
#endif
}
static void byte_depthwise(const ByteDepthwise& t) {
  HWY_ALIGN int32_t sums[kByteColumns];
  ByteRowsEnd e = t.end;
  for (int64_t i = 0; i < t.block_count; ++i) {
    const ByteBlock& b = t.blocks[i];
    depthwise_sums(t, b, t.sums != nullptr ? t.sums + i * kByteColumns : sums);
    if (t.sums != nullptr) continue;
    e.sums = sums, e.columns = b.columns, e.mask = b.mask, e.y = t.end.y + b.y;
    end_rows(e);
  }
}
#endif

static void end_columns(const ByteColumnsEnd& e) {
  const ByteTag d;
  const hn::Rebind<float, ByteTag> reals;
  const ByteEnd end = byte_end(d, e);
  for (int r = 0; r < e.rows; ++r) {
    const int32_t* sums = e.sums + r * e.sums_step;
    for (int c = 0; c < e.columns; c += kByteLanes) {
      auto sum = hn::Add(hn::LoadU(d, sums + c), hn::LoadU(d, e.add + c));
      if (e.factor != nullptr)
        sum = hn::Add(sum, hn::Mul(hn::LoadU(d, e.factor + c), hn::Set(d, e.row_factor[r])));
      auto m = hn::LoadU(reals, e.multiplier + c);
      if (e.row_scale != nullptr) m = hn::Mul(hn::Set(reals, e.row_scale[r]), m);
      auto real = hn::Mul(hn::ConvertTo(reals, sum), m);
      if (e.bias != nullptr) real = hn::Add(real, hn::LoadU(reals, e.bias + c));
      const int n = HWY_MIN(kByteLanes, e.columns - c);
      const int64_t at = r * e.y_step + c;
      if (e.to_float) {
        auto* y = static_cast<float*>(e.y) + at;
        if (n == kByteLanes) {
          hn::StoreU(real, reals, y);
        } else {
          HWY_ALIGN float line[kByteLanes];
          hn::Store(real, reals, line);
          memcpy(y, line, static_cast<size_t>(n) * sizeof(float));
        }
      } else {
        auto* y = static_cast<uint8_t*>(e.y) + at;
        HWY_ALIGN uint8_t line[HWY_MAX_BYTES];
        end_bytes(d, real, end, n == kByteLanes ? y : line);
        if (n != kByteLanes) memcpy(y, line, static_cast<size_t>(n));
      }
    }
  }
}

static void byte_range_of(const float* x, int64_t n, float* lo, float* hi) {
  const hn::ScalableTag<float> d;
  constexpr int64_t kLanes = kByteLanes;
  int64_t i = 0;
  float least = 0, most = 0;
  if (n >= kLanes) {
    auto low = hn::Zero(d), high = hn::Zero(d);  // NaN is neither below nor above
    for (; i + kLanes <= n; i += kLanes) {
      const auto v = hn::LoadU(d, x + i);
      low = hn::IfThenElse(hn::Lt(v, low), v, low);
      high = hn::IfThenElse(hn::Gt(v, high), v, high);
    }
    HWY_ALIGN float both[2][kLanes];
    hn::Store(low, d, both[0]);
    hn::Store(high, d, both[1]);
    for (int64_t l = 0; l < kLanes; ++l) {
      least = both[0][l] < least ? both[0][l] : least;
      most = both[1][l] > most ? both[1][l] : most;
    }
  }
  for (; i < n; ++i) least = x[i] < least ? x[i] : least, most = x[i] > most ? x[i] : most;
  *lo = least, *hi = most;
}

template <class D>
static HWY_INLINE void quantize_row_lanes(D d, const float* x, float scale, float zero,
                                          uint8_t* out) {
  const hn::RebindToSigned<D> ints;
  const hn::Rebind<uint8_t, D> bytes;
  auto q = hn::Round(hn::Div(hn::LoadU(d, x), hn::Set(d, scale)));
  q = hn::Add(hn::IfThenElseZero(hn::Eq(q, q), q), hn::Set(d, zero));
  q = hn::Min(hn::Max(q, hn::Zero(d)), hn::Set(d, 255.0f));
  hn::StoreU(hn::DemoteTo(bytes, hn::ConvertTo(ints, q)), bytes, out);
}
static void quantize_row(const float* x, int64_t n, float scale, float zero, uint8_t* out) {
  const hn::ScalableTag<float> d;
  int64_t i = 0;
  for (; i + kByteLanes <= n; i += kByteLanes) quantize_row_lanes(d, x + i, scale, zero, out + i);
  for (; i < n; ++i) quantize_row_lanes(hn::CappedTag<float, 1>(), x + i, scale, zero, out + i);
}

static const ByteKernels* byte_set() {
  static constexpr ByteKernels kSet = {HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_AVX3_DL ? 8 : 4,
                                       kByteVectors * kByteLanes,
                                       kPerWord,
                                       false,
                                       &byte_tile<false>,
                                       &byte_tile<true>,
                                       &byte_zip,
                                       &end_rows,
                                       &end_columns,
                                       HWY_TARGET == HWY_AVX3_DL,
                                       &byte_depthwise,
                                       &byte_range_of,
                                       &quantize_row};
  return &kSet;
}

}  // namespace HWY_NAMESPACE
}  // namespace wick
#if HWY_TARGET == HWY_AVX3_DL
HWY_POP_ATTRIBUTES
#endif
HWY_AFTER_NAMESPACE();

#endif
