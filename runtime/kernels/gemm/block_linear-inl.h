// SIMD bodies of BlockLinear, once per target: weights are dequantized in registers, as
// DequantizeLinear would, and multiplied by x at once; or a panel of them is written for the tiles
// of tile.h. Lanes are rows of W, k ascends.
#if defined(WICK_KERNELS_BLOCK_LINEAR_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef WICK_KERNELS_BLOCK_LINEAR_INL_H_
#undef WICK_KERNELS_BLOCK_LINEAR_INL_H_
#else
#define WICK_KERNELS_BLOCK_LINEAR_INL_H_
#endif

#include "runtime/kernels/gemm/tile_vec-inl.h"

HWY_BEFORE_NAMESPACE();
namespace wick {
namespace HWY_NAMESPACE {
namespace block_linear {

using Words = hn::RebindToUnsigned<TileTag>;
using WordVec = hn::Vec<Words>;

HWY_INLINE TileVec scale_at(const BlockPanel& p, int64_t at) {
  const TileTag d;
  if (!p.half) return hn::LoadU(d, static_cast<const float*>(p.scales) + at);
#if HWY_TARGET == HWY_SCALAR  // its conversion takes infinity for a number
  return hn::Set(d, static_cast<float>(static_cast<const Half*>(p.scales)[at]));
#endif
  const hn::Rebind<hwy::float16_t, TileTag> half;
  return hn::PromoteTo(d, hn::LoadU(half, static_cast<const hwy::float16_t*>(p.scales) + at));
}
HWY_INLINE TileVec zero_at(const BlockPanel& p, int64_t at) {
  const hn::RebindToSigned<TileTag> ints;
  const hn::Rebind<uint8_t, decltype(ints)> bytes;
  return hn::ConvertTo(TileTag(), hn::PromoteTo(ints, hn::LoadU(bytes, p.zeros + at)));
}

// A weight is computed from its number n as (n - zero) * scale, with a zero point per block or one
// for all; or, with 16-bit scales, as fma(n, scale, -zero * scale), which is the same number: zero
// * scale has 15 significant bits, and so has the weight.
enum class Form { kOneZero, kZeros, kHalf };

// Scales and zero points for the columns of one vector, in one block of k.
template <int kBits, Form kForm>
struct BlockVec {
  HWY_ATTR BlockVec() {}  // an implicit constructor would belong to no SIMD target
  TileVec scale, zero;
  HWY_INLINE void load(const BlockPanel& p, int64_t at) {
    scale = scale_at(p, at);
    zero = p.zeros == nullptr ? hn::Set(TileTag(), p.zero) : zero_at(p, at);
  }
  HWY_INLINE TileVec weight(WordVec word) const {
    const auto low = hn::And(word, hn::Set(Words(), (1u << kBits) - 1));
    const auto n = hn::ConvertTo(TileTag(), hn::BitCast(hn::RebindToSigned<TileTag>(), low));
    return hn::Mul(hn::Sub(n, zero), scale);
  }
};

#if HWY_TARGET == HWY_AVX3
// Converts whole words with fewer instructions than a shift and a conversion per number: the bits
// are placed into a float's mantissa without shifting, above a power of two that is subtracted
// together with the zero point.
constexpr bool kWholeWords = true;

// Returns 2^(23 - kAt) + the number that starts at bit kAt.
template <int kBits, int kAt>
HWY_INLINE TileVec in_mantissa(WordVec v) {
  static_assert(kAt >= 0 && kAt + kBits <= 23, "the mantissa");
  const __m512i mask = _mm512_set1_epi32(((1 << kBits) - 1) << kAt);
  const __m512i power = _mm512_set1_epi32((127 + 23 - kAt) << 23);
  return TileVec{_mm512_castsi512_ps(_mm512_ternarylogic_epi32(v.raw, mask, power, 0xEA))};
}
template <int kAt>
HWY_INLINE TileVec power(TileVec plus) {
  return hn::Add(plus, hn::Set(TileTag(), static_cast<float>(1 << (23 - kAt))));
}
// Returns the table element that a word's lowest four bits select.
HWY_INLINE TileVec look_up(TileVec table, WordVec v) {
  return hn::TableLookupLanes(table, hn::Indices512<float>{v.raw});
}

// Returns whether all `count` 16-bit scales are finite and above 0: others would lose values or
// signs of zeros.
HWY_INLINE bool plain_scales(const uint16_t* scales, int64_t count) {
  const hn::CappedTag<uint16_t, 16> d;
  auto most = hn::Zero(d);
  for (int64_t i = 0; i < count; i += 16)
    most = hn::Max(most, hn::Sub(hn::LoadU(d, scales + i), hn::Set(d, 1)));
  return hn::AllTrue(d, hn::Lt(most, hn::Set(d, 0x7BFF)));
}

// weight<i>: (number i of a word - zero point) * scale
template <int kBits, Form kForm>
struct WordVecs {  // f32 scales with a zero point per block
  TileVec scale, zero[5];
  HWY_INLINE void set(const BlockPanel&, const BlockVec<kBits, kForm>& b) {
    scale = b.scale;
    zero[0] = power<0>(b.zero), zero[1] = power<4>(b.zero), zero[2] = power<8>(b.zero);
    zero[3] = power<12>(b.zero), zero[4] = power<16>(b.zero);
  }
  struct Parts {
    WordVec low, high;
    HWY_INLINE explicit Parts(WordVec v) : low(v), high(hn::ShiftRight<20>(v)) {}
  };
  template <int i>
  HWY_INLINE TileVec weight(const Parts& p) const {
    constexpr int kAt = i % 5 * kBits;
    const TileVec n = in_mantissa<kBits, kAt>(i < 5 ? p.low : p.high);
    return hn::Mul(hn::Sub(n, zero[i % 5]), scale);
  }
};
template <>
struct WordVecs<4, Form::kOneZero> {
  TileVec scale, table;
  HWY_INLINE void set(const BlockPanel& p, const BlockVec<4, Form::kOneZero>& b) {
    scale = b.scale;
    table = hn::Sub(hn::Iota(TileTag(), 0), hn::Set(TileTag(), p.zero));
  }
  using Parts = WordVec;
  template <int i>
  HWY_INLINE TileVec weight(WordVec v) const {
    return hn::Mul(look_up(table, hn::ShiftRight<4 * i>(v)), scale);
  }
};
template <>
struct WordVecs<4, Form::kHalf> {
  TileVec scale, at12, at16;
  HWY_INLINE void set(const BlockPanel&, const BlockVec<4, Form::kHalf>& b) {
    const auto less = [&](float power) HWY_ATTR {  // -(power + zero) scale: 24 bits
      return hn::Neg(hn::Mul(hn::Add(b.zero, hn::Set(TileTag(), power)), b.scale));
    };
    scale = b.scale;
    at12 = less(1 << 11), at16 = less(1 << 7);
  }
  // The word rotated so that each number is at bit 12 or 16 of one of the parts.
  struct Parts {
    WordVec of[4];  // numbers 7 and 0, 1 and 2, 3 and 4, 5 and 6
    HWY_INLINE explicit Parts(WordVec w)
        : of{WordVec{_mm512_rol_epi32(w.raw, 16)}, WordVec{_mm512_rol_epi32(w.raw, 8)}, w,
             hn::ShiftRight<8>(w)} {}
  };
  template <int i>
  HWY_INLINE TileVec weight(const Parts& p) const {
    const WordVec v = p.of[(i + 1) / 2 % 4];
    if constexpr (i % 2 == 0) return hn::MulAdd(in_mantissa<4, 16>(v), scale, at16);
    return hn::MulAdd(in_mantissa<4, 12>(v), scale, at12);
  }
};
template <Form kForm>
struct WordVecs<8, kForm> {
  TileVec scale, at0, at8;
  HWY_INLINE void set(const BlockPanel&, const BlockVec<8, kForm>& b) {
    scale = b.scale;
    at0 = power<0>(b.zero), at8 = power<8>(b.zero);
  }
  struct Parts {
    WordVec low, high;
    HWY_INLINE explicit Parts(WordVec v) : low(v), high(hn::ShiftRight<16>(v)) {}
  };
  template <int i>
  HWY_INLINE TileVec weight(const Parts& p) const {
    const WordVec v = i < 2 ? p.low : p.high;
    return hn::Mul(
        i % 2 == 0 ? hn::Sub(in_mantissa<8, 0>(v), at0) : hn::Sub(in_mantissa<8, 8>(v), at8),
        scale);
  }
};

// Calls f(k + i, weights) for the numbers of a word of each of kVecs vectors.
template <int kBits, int i, int kVecs, class Vecs, class F>
HWY_INLINE void each_number(const Vecs* vecs, const typename Vecs::Parts* parts, int64_t k, F f) {
  TileVec w[kVecs];
#pragma GCC unroll 3
  for (int v = 0; v < kVecs; ++v) w[v] = vecs[v].template weight<i>(parts[v]);
  f(k + i, w);
  if constexpr ((i + 1) * kBits < 32) each_number<kBits, i + 1, kVecs>(vecs, parts, k, f);
}
template <int kBits, int kVecs, class Vecs, class F>
HWY_INLINE void whole_word(const Vecs* vecs, const uint32_t* words, int64_t k, F f) {
  using Parts = typename Vecs::Parts;
  const auto word = [&](int v) HWY_ATTR {
    return Parts(hn::LoadU(Words(), words + HWY_MIN(v, kVecs - 1) * kLanes));
  };
  const Parts parts[3] = {word(0), word(1), word(2)};
  each_number<kBits, 0, kVecs>(vecs, parts, k, f);
}
#else
constexpr bool kWholeWords = false;
HWY_INLINE bool plain_scales(const uint16_t*, int64_t) { return false; }
template <int kBits, Form kForm>
struct WordVecs {
  HWY_INLINE void set(const BlockPanel&, const BlockVec<kBits, kForm>&) {}
};
template <int kBits, int kVecs, class Vecs, class F>
HWY_INLINE void whole_word(const Vecs*, const uint32_t*, int64_t, F) {}
#endif

// Prefetches words that are read soon. A panel is read sequentially, but with so little work per
// byte the hardware prefetcher does not run far enough ahead.
template <int kVecs>
HWY_INLINE void ask_for(const uint32_t* words) {
  constexpr int64_t kAhead = 2048, kLine = 64;  // bytes
  const char* at = reinterpret_cast<const char*>(words) + kAhead;
#pragma GCC unroll 12
  for (int64_t i = 0; i < kVecs * kLanes * 4; i += kLine) __builtin_prefetch(at + i);
}

// Returns whether a block may be converted by whole words. Checks its scales and prefetches those
// of later blocks.
template <Form kForm>
HWY_INLINE bool by_whole_words(const BlockPanel& p, int64_t block, int64_t width) {
  if (!kWholeWords || !p.half) return kWholeWords;
  constexpr int64_t kAhead = 8, kLine = 32;
  const auto* scales = static_cast<const uint16_t*>(p.scales) + block * width;
  for (int64_t i = 0; i < width; i += kLine) __builtin_prefetch(scales + kAhead * width + i);
  return kForm != Form::kHalf || plain_scales(scales, width);
}

// Calls f(k, weights of kVecs vectors) for k in [from, to), which is within one block.
template <int kBits, Form kForm, int kVecs, class F>
HWY_INLINE void each_k(const BlockPanel& p, int64_t block_index, bool whole_words, int64_t from,
                       int64_t to, F f) {
  constexpr int kWidth = kVecs * kLanes, kOfWord = 32 / kBits;
  const uint32_t* words = p.words + from / kOfWord * kWidth;
  BlockVec<kBits, kForm> block[kVecs];
  WordVecs<kBits, kForm> whole[kVecs];
#pragma GCC unroll 3
  for (int v = 0; v < kVecs; ++v) {
    block[v].load(p, block_index * kWidth + v * kLanes);
    whole[v].set(p, block[v]);
  }
  int64_t k = from;
  for (; whole_words && k + kOfWord <= to; k += kOfWord, words += kWidth) {
    ask_for<kVecs>(words);
    whole_word<kBits, kVecs>(whole, words, k, f);
  }
  while (k < to) {
    WordVec word[kVecs];
#pragma GCC unroll 3
    for (int v = 0; v < kVecs; ++v) word[v] = hn::LoadU(Words(), words + v * kLanes);
    ask_for<kVecs>(words);
    words += kWidth;
    for (const int64_t stop = HWY_MIN(to, k + kOfWord); k < stop; ++k) {
      TileVec w[kVecs];
#pragma GCC unroll 3
      for (int v = 0; v < kVecs; ++v) {
        w[v] = block[v].weight(word[v]);
        word[v] = hn::ShiftRight<kBits>(word[v]);
      }
      f(k, w);
    }
  }
}

// The k of a panel that are processed before the next panel's turn; a block is a multiple of it, or
// smaller. With 8 bits there are fewer, as they are limited by memory bandwidth alone.
template <int kBits>
constexpr int64_t kTurn = kBits == 4 ? 32 : 16;

// Several panels are processed in turns: the CPU prefetches more when it sees more than one stream
// of reads.
template <int kBits, Form kForm, int kRows, int kVecs>
HWY_NOINLINE void dot_body(const BlockDot& t) {
  constexpr int kWidth = kVecs * kLanes;
  const TileTag d;
  HWY_ALIGN float sums[kBlockPanels][kRows][kWidth];
  BlockPanel panel[kBlockPanels];
  bool whole_words[kBlockPanels] = {};
  const float* row[kRows];
#pragma GCC unroll 8
  for (int r = 0; r < kRows; ++r) row[r] = t.rows[HWY_MIN(r, t.row_count - 1)];
  const int64_t blocks = (t.k + t.panel.block - 1) / t.panel.block;
  for (int i = 0; i < t.panels; ++i) {
    BlockPanel& p = panel[i];
    p = t.panel;
    p.words += i * kWidth * ((t.k * kBits + 31) / 32);
    p.scales = static_cast<const char*>(p.scales) + i * kWidth * blocks * (p.half ? 2 : 4);
    if (p.zeros != nullptr) p.zeros += i * kWidth * blocks;
    for (int r = 0; r < kRows; ++r) {
      for (int v = 0; v < kVecs; ++v) hn::Store(hn::Zero(d), d, sums[i][r] + v * kLanes);
    }
  }
  const int64_t turn = HWY_MIN(kTurn<kBits>, t.panel.block);
  for (int64_t from = 0; from < t.k; from += turn) {
    const int64_t b = from / t.panel.block, to = HWY_MIN(t.k, from + turn);
    const bool begins = from % t.panel.block == 0;
    for (int i = 0; i < t.panels; ++i) {
      if (begins) whole_words[i] = by_whole_words<kForm>(panel[i], b, kWidth);
      TileVec acc[kRows][kVecs];
#pragma GCC unroll 8
      for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 3
        for (int v = 0; v < kVecs; ++v) acc[r][v] = hn::Load(d, sums[i][r] + v * kLanes);
      }
      each_k<kBits, kForm, kVecs>(panel[i], b, whole_words[i], from, to,
                                  [&](int64_t k, const TileVec* w) HWY_ATTR {
#pragma GCC unroll 8
                                    for (int r = 0; r < kRows; ++r) {
                                      const TileVec x = hn::Set(d, row[r][k]);
#pragma GCC unroll 3
                                      for (int v = 0; v < kVecs; ++v)
                                        acc[r][v] = fused_mul_add(x, w[v], acc[r][v]);
                                    }
                                  });
#pragma GCC unroll 8
      for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 3
        for (int v = 0; v < kVecs; ++v) hn::Store(acc[r][v], d, sums[i][r] + v * kLanes);
      }
    }
  }
  for (int i = 0; i < t.panels; ++i) {
    for (int r = 0; r < t.row_count; ++r) {
      for (int at = 0; at < t.cols; at += kLanes) {
        const int n = HWY_MIN(kLanes, t.cols - at), col = i * kWidth + at;
        TileVec y = hn::Load(d, sums[i][r] + at);
        if (t.bias != nullptr) y = hn::Add(y, load_n(d, t.bias + col, n));
        store_n(y, d, t.out + r * t.out_step + col, n);
      }
    }
  }
}
template <int kBits, Form kForm, int kRows>
HWY_INLINE void dot_cols(const BlockDot& t) {
  if (t.cols > 2 * kLanes) return dot_body<kBits, kForm, kRows, 3>(t);
  if (t.cols > kLanes) return dot_body<kBits, kForm, kRows, 2>(t);
  return dot_body<kBits, kForm, kRows, 1>(t);
}
template <int kBits, Form kForm>
HWY_INLINE void dot_rows(const BlockDot& t) {
  if (t.row_count == 1) return dot_cols<kBits, kForm, 1>(t);
  if (t.row_count <= 4) return dot_cols<kBits, kForm, 4>(t);
  if (t.cols > 2 * kLanes) return dot_body<kBits, kForm, kMr, 3>(t);
  BlockDot part = t;  // the last panel, in two halves: own bodies for it would be much code
  part.row_count = 4;
  dot_cols<kBits, kForm, 4>(part);
  part.row_count = t.row_count - 4;
  for (int r = 0; r < part.row_count; ++r) part.rows[r] = t.rows[4 + r];
  part.out += 4 * t.out_step;
  dot_cols<kBits, kForm, 4>(part);
}
// kZeros serves every panel; whole words of 4 bits have faster forms.
static void dot(const BlockDot& t) {
  if (t.panel.bits == 8) return dot_rows<8, Form::kZeros>(t);
  if constexpr (kWholeWords) {
    if (t.panel.half) return dot_rows<4, Form::kHalf>(t);
    if (t.panel.zeros == nullptr) return dot_rows<4, Form::kOneZero>(t);
  }
  dot_rows<4, Form::kZeros>(t);
}

template <int kBits, Form kForm, int kVecs>
HWY_NOINLINE void unpack_body(const BlockPanel& p, int64_t k0, int64_t depth, float* to) {
  const int64_t end = k0 + depth, first = k0 / p.block, last = (end + p.block - 1) / p.block;
  for (int64_t b = first; b < last; ++b) {
    const int64_t from = b * p.block, stop = HWY_MIN(end, from + p.block);
    each_k<kBits, kForm, kVecs>(p, b, by_whole_words<kForm>(p, b, kVecs * kLanes), from, stop,
                                [&](int64_t k, const TileVec* w) HWY_ATTR {
                                  float* line = to + (k - k0) * kVecs * kLanes;
#pragma GCC unroll 3
                                  for (int v = 0; v < kVecs; ++v)
                                    hn::StoreU(w[v], TileTag(), line + v * kLanes);
                                });
  }
}
template <int kBits, Form kForm>
HWY_INLINE void unpack_cols(const BlockPanel& p, int64_t k0, int64_t depth, int width, float* to) {
  if (width > 2 * kLanes) return unpack_body<kBits, kForm, 3>(p, k0, depth, to);
  if (width > kLanes) return unpack_body<kBits, kForm, 2>(p, k0, depth, to);
  unpack_body<kBits, kForm, 1>(p, k0, depth, to);
}
// Dequantizing a panel costs little beside the tiles that read it, so one form serves all.
static void unpack(const BlockPanel& p, int64_t k0, int64_t depth, int width, float* to) {
  p.bits == 4 ? unpack_cols<4, Form::kZeros>(p, k0, depth, width, to)
              : unpack_cols<8, Form::kZeros>(p, k0, depth, width, to);
}

}  // namespace block_linear

// Returns the kernels of the current SIMD target.
static const BlockKernels* block_set() {
  static constexpr BlockKernels kSet = {kMr, &block_linear::dot, &block_linear::unpack};
  return &kSet;
}

}  // namespace HWY_NAMESPACE
}  // namespace wick
HWY_AFTER_NAMESPACE();

#endif
