// SIMD bodies of byte_tiles.h, once per target: words and their products.
#if defined(WICK_KERNELS_BYTE_TILES_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef WICK_KERNELS_BYTE_TILES_INL_H_
#undef WICK_KERNELS_BYTE_TILES_INL_H_
#else
#define WICK_KERNELS_BYTE_TILES_INL_H_
#endif

#include "hwy/highway.h"
#include "runtime/kernels/bytes/byte_tiles.h"

#if HWY_TARGET == HWY_AVX3_DL
// Highway 1.0.3 names another instruction set here; with two attributes Clang uses the first.
HWY_PUSH_ATTRIBUTES(HWY_TARGET_STR ",avx512vnni")
#else
HWY_BEFORE_NAMESPACE();
#endif
namespace wick {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using ByteTag = hn::ScalableTag<int32_t>;
using ByteVec = hn::Vec<ByteTag>;
constexpr int kByteLanes = static_cast<int>(HWY_LANES(int32_t));

#if HWY_TARGET == HWY_AVX3_DL
// Four products of an unsigned and a signed byte; their sum does not saturate.
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
#elif HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_SSE4 || \
    HWY_TARGET == HWY_WASM
constexpr int kPerWord = 2;
struct WordOperand {
  ByteVec v;
};
static HWY_INLINE WordOperand word_operand(ByteTag, ByteVec v) { return {v}; }
template <bool kXRows>
static HWY_INLINE ByteVec add_words(ByteTag d, WordOperand row, WordOperand column, ByteVec sum) {
  const hn::Repartition<int16_t, ByteTag> d16;
  ByteVec unused = hn::Zero(d);  // x86 and WebAssembly add both products to the first sum
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

// Adds each lane's two int16 products to its sum.
template <class D, class V16, class V32>
static HWY_INLINE V32 add_tap_pairs([[maybe_unused]] D d, V16 a, V16 b, V32 sum) {
#if HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_SSE4 || \
    HWY_TARGET == HWY_WASM
  V32 unused = hn::Zero(d);
  return hn::ReorderWidenMulAccumulate(d, a, b, sum, unused);
#elif HWY_TARGET == HWY_AVX3_DL
  return V32{_mm256_add_epi32(sum.raw, _mm256_madd_epi16(a.raw, b.raw))};
#else
  const auto a32 = hn::BitCast(d, a), b32 = hn::BitCast(d, b);
  const auto low = [](V32 v) HWY_ATTR { return hn::ShiftRight<16>(hn::ShiftLeft<16>(v)); };
  const auto even = hn::Mul(low(a32), low(b32));
  return hn::Add(hn::Add(sum, even), hn::Mul(hn::ShiftRight<16>(a32), hn::ShiftRight<16>(b32)));
#endif
}

static HWY_INLINE ByteVec load_words(ByteTag d, const int32_t* words) {
  return hn::LoadU(d, words);
}
// Two signed bytes per word.
static HWY_INLINE ByteVec load_words(ByteTag d, const uint16_t* pairs) {
#if HWY_TARGET == HWY_SCALAR
  const auto low = static_cast<uint16_t>(static_cast<int8_t>(*pairs));
  return hn::Set(d, static_cast<int8_t>(*pairs >> 8) * 65536 + low);
#else
  const hn::Repartition<int16_t, ByteTag> d16;
  const hn::Rebind<int8_t, decltype(d16)> d8;
  const auto bytes = hn::LoadU(d8, reinterpret_cast<const int8_t*>(pairs));
  return hn::BitCast(d, hn::PromoteTo(d16, bytes));
#endif
}

constexpr int kByteVectors = 2;

// A tile of few rows keeps several independent sums per element, to hide latency.
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
  using Column = std::conditional_t<kXRows && kPerWord == 2, uint16_t, int32_t>;
  const auto* columns = static_cast<const Column*>(t.columns);
  const int32_t* offset = t.offset;
  int64_t words = t.words;
  for (; words >= kChains; words -= kChains) {
#pragma GCC unroll 4
    for (int u = 0; u < kChains; ++u) {
      const Column* from = kTable ? columns + *offset++ : columns;
      const WordOperand b0 = word_operand(d, load_words(d, from));
      const WordOperand b1 = word_operand(d, load_words(d, from + kByteLanes));
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
  for (; words > 0; --words, rows += R, columns += t.step) {  // with several chains
    const WordOperand b0 = word_operand(d, load_words(d, columns));
    const WordOperand b1 = word_operand(d, load_words(d, columns + kByteLanes));
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
static void byte_zip(const uint8_t* const* rows, int64_t n, uint8_t flip, bool, void* words_out) {
  auto* out = static_cast<uint32_t*>(words_out);
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
static void byte_zip(const uint8_t* const* rows, int64_t n, uint8_t flip, bool panel, void* out) {
  const uint8_t *even = rows[0], *odd = rows[1];
  auto* bytes = static_cast<uint8_t*>(out);
  auto* words = static_cast<uint16_t*>(out);
  int64_t i = 0;
#if HWY_TARGET != HWY_SCALAR
  const hn::CappedTag<uint16_t, 16> d16;
  const hn::Rebind<uint8_t, decltype(d16)> d8;
  const auto off = hn::Set(d8, flip);
  const auto lanes = static_cast<int64_t>(hn::Lanes(d8));
  for (; i + lanes <= n; i += lanes) {
    const auto a = hn::Xor(hn::LoadU(d8, even + i), off);
    const auto b = hn::Xor(hn::LoadU(d8, odd + i), off);
    const auto low = hn::InterleaveLower(d8, a, b), high = hn::InterleaveUpper(d8, a, b);
    if (panel) {
      hn::StoreU(low, d8, bytes + 2 * i);
      hn::StoreU(high, d8, bytes + 2 * i + lanes);
    } else {
      hn::StoreU(hn::PromoteTo(d16, low), d16, words + 2 * i);
      hn::StoreU(hn::PromoteTo(d16, high), d16, words + 2 * i + lanes);
    }
  }
#endif
  for (; i < n; ++i) {
    const uint8_t a = even[i] ^ flip, b = odd[i] ^ flip;
    if (panel) {
      bytes[2 * i] = a, bytes[2 * i + 1] = b;
    } else {
      words[2 * i] = a, words[2 * i + 1] = b;
    }
  }
}
#endif

}  // namespace HWY_NAMESPACE
}  // namespace wick
HWY_AFTER_NAMESPACE();

#endif
