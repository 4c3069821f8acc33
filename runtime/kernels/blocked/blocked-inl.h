// SIMD bodies of blocked.h, once per target.
#if defined(WICK_KERNELS_BLOCKED_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef WICK_KERNELS_BLOCKED_INL_H_
#undef WICK_KERNELS_BLOCKED_INL_H_
#else
#define WICK_KERNELS_BLOCKED_INL_H_
#endif

#include <cstring>
#include <type_traits>

#include "hwy/highway.h"
#include "runtime/core/stop.h"
#include "runtime/kernels/blocked/blocked.h"
#include "runtime/kernels/gemm/tile_vec-inl.h"

HWY_BEFORE_NAMESPACE();
namespace wick {
namespace HWY_NAMESPACE {
namespace blocked {
namespace hn = hwy::HWY_NAMESPACE;

// Pixels of the largest tile, whose sums take most of the registers; by vectors of channels.
#if HWY_TARGET == HWY_AVX3
constexpr int kPixels[] = {0, 14, 14, 9};
#elif HWY_ARCH_ARM_A64
constexpr int kPixels[] = {0, 10, 10, 8};
#elif HWY_ARCH_WASM  // engines move vectors to and from memory sooner than compilers do
constexpr int kPixels[] = {0, 6, 4, 3};
#else
constexpr int kPixels[] = {0, 6, 6, 4};
#endif
// Where the last vector has channels in its lower half alone, two pixels share one (tile's kHalf).
#if HWY_TARGET == HWY_AVX3
constexpr bool kHalves = true;
constexpr int kHalfPixels[] = {0, 0, 14, 10};
HWY_INLINE TileVec lower_twice(TileVec v) { return hn::ConcatLowerLower(TileTag(), v, v); }
HWY_INLINE TileVec load_twice(const float* half) {
  return TileVec{_mm512_broadcast_f32x8(_mm256_loadu_ps(half))};
}
// Returns the lower half of a's lanes and the upper half of b's.
HWY_INLINE TileVec one_each(TileVec a, TileVec b) { return hn::ConcatUpperLower(TileTag(), b, a); }
// The lower halves of two pixels. Lanes without a channel may be stored as any number.
HWY_INLINE TileVec load_pair(const float* y) {
  const TileTag d;
  return hn::ConcatLowerLower(d, hn::LoadU(d, y + kLanes), hn::LoadU(d, y));
}
HWY_INLINE void store_pair(TileVec v, float* y) {
  const TileTag d;
  hn::StoreU(v, d, y);
  hn::StoreU(hn::ConcatLowerUpper(d, v, v), d, y + kLanes);
}
#else
constexpr bool kHalves = false;
constexpr const int* kHalfPixels = kPixels;
HWY_INLINE TileVec lower_twice(TileVec v) { return v; }
HWY_INLINE TileVec load_twice(const float* half) { return hn::LoadU(TileTag(), half); }
HWY_INLINE TileVec one_each(TileVec a, TileVec) { return a; }
HWY_INLINE TileVec load_pair(const float* y) { return hn::LoadU(TileTag(), y); }
HWY_INLINE void store_pair(TileVec v, float* y) { hn::StoreU(v, TileTag(), y); }
#endif
// With few pixels, each one has its own pointer, and a tile may span several rows.
constexpr bool kPointers = HWY_TARGET == HWY_AVX2;

// The epilogue of a sum that is still in registers: bias, scale and shift, residual and clip. Relu
// and no activation use the lower bound of the clip.
template <int kVecs>
struct End {
  TileVec bias[kVecs], scale[kVecs], shift[kVecs], low, high;

  // With `half` both halves of the last vector are for the same channels.
  HWY_INLINE End(const TileTag d, const Epilogue& e, int64_t channel, int64_t channels,
                 bool half = false)
      : low(hn::Set(d, lower_bound(e))),
        high(hn::Set(d, e.act == Activation::kClip ? e.beta : __builtin_huge_valf())) {
#pragma GCC unroll 2
    for (int v = 0; v < kVecs; ++v) {
      const int64_t at = channel + v * kLanes;
      const int n = static_cast<int>(HWY_MIN(int64_t{kLanes}, channels - at));
      // y + -0 is y for every y, and so is fma(y, 1, -0).
      bias[v] = e.bias == nullptr ? hn::Set(d, -0.0f) : load_n(d, e.bias + at, n);
      scale[v] = e.scale == nullptr ? hn::Set(d, 1.0f) : load_n(d, e.scale + at, n);
      shift[v] = e.scale == nullptr ? hn::Set(d, -0.0f) : load_n(d, e.shift + at, n);
    }
    if (half) {
      for (TileVec* v : {bias, scale, shift}) v[kVecs - 1] = lower_twice(v[kVecs - 1]);
    }
  }
  HWY_INLINE TileVec clip(TileVec y) const {
    y = hn::IfThenElse(hn::Le(y, low), low, y);
    return hn::IfThenElse(hn::Ge(y, high), high, y);
  }
};

// With kHalf the last vector of two pixels is one, in a register of its own, `pair`.
template <int kPix, int kVecs, bool kHalf = false>
HWY_NOINLINE void tile(const BlockedArea& t, const End<kVecs>* end, const float* const* x,
                       int64_t pixel, const float* next, const float* next_weights) {
  constexpr int kWhole = kVecs - kHalf, kPairs = kHalf ? kPix / 2 : 0;
  static_assert(!kHalf || kPix % 2 == 0, "pixels come in pairs");
  const TileTag d;
  float* y = t.y + pixel * kLanes;
  TileVec acc[kPix][kWhole], pair[HWY_MAX(kPairs, 1)];
#pragma GCC unroll 16
  for (int p = 0; p < kPix; ++p) {
#pragma GCC unroll 3
    for (int v = 0; v < kWhole; ++v) acc[p][v] = hn::Zero(d);
  }
#pragma GCC unroll 16
  for (int p = 0; p < kPairs; ++p) pair[p] = hn::Zero(d);
  if (t.resume) {
#pragma GCC unroll 16
    for (int p = 0; p < kPix; ++p) {
#pragma GCC unroll 3
      for (int v = 0; v < kWhole; ++v) acc[p][v] = hn::LoadU(d, y + v * t.y_vector + p * kLanes);
    }
#pragma GCC unroll 16
    for (int p = 0; p < kPairs; ++p) pair[p] = load_pair(y + kWhole * t.y_vector + 2 * p * kLanes);
  }
  const int64_t step = t.x_step, step3 = 3 * t.x_step;
  const float* from[kPointers ? kPix : 1];
#pragma GCC unroll 6
  for (int p = 0; p < (kPointers ? kPix : 1); ++p) {
    from[p] = x[p];
    WICK_OPAQUE(from[p]);
  }
  const int32_t* offset = t.taps.x;
  // What the inner loop does not need stays in memory, so that it keeps the registers.
  struct Rest {
    const BlockedArea* t;
    const End<kVecs>* end;
    float* y;
    int64_t pixel;
    const BlockedPiece* piece;
    int64_t left;
  } rest = {&t, end, y, pixel, t.taps.piece, t.taps.count - t.taps.first.count};
  Rest* r = &rest;
  const float *w = t.weights + t.taps.first.weights, *third = t.third + t.taps.first.weights;
  int64_t k = t.taps.first.count;
  for (;;) {
    for (; k > 0; --k, w += kBlockedVectors * kLanes) {
      int64_t at = *offset++;
      WICK_OPAQUE(at);
      TileVec b[kVecs];
#pragma GCC unroll 2
      for (int v = 0; v < HWY_MIN(kWhole, 2); ++v) b[v] = hn::LoadU(d, w + v * kLanes);
      if constexpr (kHalf) {
        b[kWhole] = load_twice(kVecs == 3 ? third : w + kLanes);
      } else if constexpr (kVecs == 3) {
        b[2] = hn::LoadU(d, third);
      }
      if constexpr (kVecs == 3) third += kBlockedVectors * kLanes;
      if constexpr (kFetchesAhead) {
        // A tile reads a line of some pixels from each plane, too few in a row for a processor to
        // guess the next ones. Channels take turns: sixteen of them share the lines of their
        // pixels.
        __builtin_prefetch(next + at + (k & 15) * step, 0, 2);
        __builtin_prefetch(next_weights, 0, 2);
        next_weights += kLanes;
      }
      const float* q = from[0] + at;
      TileVec before = hn::Zero(d);
#pragma GCC unroll 16
      for (int p = 0; p < kPix; ++p) {
        const int turn = p % 3;
        const TileVec a = hn::Set(d, kPointers   ? from[kPointers ? p : 0][at]
                                     : turn == 0 ? q[0]
                                     : turn == 1 ? q[step]
                                                 : q[2 * step]);
#pragma GCC unroll 3
        for (int v = 0; v < kWhole; ++v) acc[p][v] = fused_mul_add(a, b[v], acc[p][v]);
        if constexpr (kHalf) {
          if (p % 2 != 0) pair[p / 2] = fused_mul_add(one_each(before, a), b[kWhole], pair[p / 2]);
          before = a;
        }
        if (!kPointers && turn == 2) {
          q += step3;
          WICK_OPAQUE(q);
        }
      }
    }
    WICK_OPAQUE(r);
    if (HWY_LIKELY(r->left == 0)) break;
    k = HWY_MIN(int64_t{r->piece->count}, r->left);
    w = r->t->weights + r->piece->weights, third = r->t->third + r->piece->weights;
    ++r->piece;
    r->left -= k;
  }
  const BlockedArea& after = *r->t;
  const End<kVecs>* e = r->end;
  float* out = r->y;
  if (e != nullptr) {
#pragma GCC unroll 16
    for (int p = 0; p < kPix; ++p) {
#pragma GCC unroll 3
      for (int v = 0; v < kWhole; ++v) acc[p][v] = hn::Add(acc[p][v], e->bias[v]);
    }
#pragma GCC unroll 16
    for (int p = 0; p < kPairs; ++p) pair[p] = hn::Add(pair[p], e->bias[kWhole]);
    if (after.end->scale != nullptr) {
#pragma GCC unroll 16
      for (int p = 0; p < kPix; ++p) {
#pragma GCC unroll 3
        for (int v = 0; v < kWhole; ++v)
          acc[p][v] = fused_mul_add(acc[p][v], e->scale[v], e->shift[v]);
      }
#pragma GCC unroll 16
      for (int p = 0; p < kPairs; ++p)
        pair[p] = fused_mul_add(pair[p], e->scale[kWhole], e->shift[kWhole]);
    }
    if (after.end->residual != nullptr) {
      const float* residual = after.end->residual + r->pixel * kLanes;
#pragma GCC unroll 16
      for (int p = 0; p < kPix; ++p) {
#pragma GCC unroll 3
        for (int v = 0; v < kWhole; ++v)
          acc[p][v] = hn::Add(acc[p][v], hn::LoadU(d, residual + v * after.y_vector + p * kLanes));
      }
#pragma GCC unroll 16
      for (int p = 0; p < kPairs; ++p) {
        const float* two = residual + kWhole * after.y_vector + 2 * p * kLanes;
        pair[p] = hn::Add(pair[p], load_pair(two));
      }
    }
#pragma GCC unroll 16
    for (int p = 0; p < kPix; ++p) {
#pragma GCC unroll 3
      for (int v = 0; v < kWhole; ++v) acc[p][v] = e->clip(acc[p][v]);
    }
#pragma GCC unroll 16
    for (int p = 0; p < kPairs; ++p) pair[p] = e->clip(pair[p]);
  }
#pragma GCC unroll 16
  for (int p = 0; p < kPix; ++p) {
#pragma GCC unroll 3
    for (int v = 0; v < kWhole; ++v)
      hn::StoreU(acc[p][v], d, out + v * after.y_vector + p * kLanes);
  }
#pragma GCC unroll 16
  for (int p = 0; p < kPairs; ++p)
    store_pair(pair[p], out + kWhole * after.y_vector + 2 * p * kLanes);
}

template <int kVecs>
struct Tile {
  int pixels;
  void (*run)(const BlockedArea&, const End<kVecs>*, const float* const*, int64_t, const float*,
              const float*);
};

// The sizes are in descending order, down to one pixel.
template <int kVecs, bool kHalf = false>
constexpr Tile<kVecs> kTiles[] = {
#if HWY_TARGET == HWY_AVX3
    {14, tile<14, kVecs>}, {10, tile<10, kVecs>}, {7, tile<7, kVecs>}, {4, tile<4, kVecs>},
#elif HWY_ARCH_ARM_A64
    {10, tile<10, kVecs>}, {7, tile<7, kVecs>}, {4, tile<4, kVecs>},
#else
    {6, tile<6, kVecs>},   {5, tile<5, kVecs>}, {4, tile<4, kVecs>},
#endif
    {2, tile<2, kVecs>},   {1, tile<1, kVecs>}};
#if HWY_TARGET == HWY_AVX3
template <>
constexpr Tile<2> kTiles<2>[] = {{14, tile<14, 2>}, {13, tile<13, 2>}, {12, tile<12, 2>},
                                 {10, tile<10, 2>}, {9, tile<9, 2>},   {7, tile<7, 2>},
                                 {4, tile<4, 2>},   {2, tile<2, 2>},   {1, tile<1, 2>}};
#endif
template <>
constexpr Tile<3> kTiles<3>[] = {
#if HWY_TARGET == HWY_AVX3
    {9, tile<9, 3>},
    {7, tile<7, 3>},
#elif HWY_ARCH_ARM_A64
    {8, tile<8, 3>},
    {7, tile<7, 3>},
#endif
    {4, tile<4, 3>},
    {3, tile<3, 3>},
    {1, tile<1, 3>}};
#if HWY_TARGET == HWY_AVX3
template <>
constexpr Tile<2> kTiles<2, true>[] = {{14, tile<14, 2, true>}, {12, tile<12, 2, true>},
                                       {10, tile<10, 2, true>}, {8, tile<8, 2, true>},
                                       {6, tile<6, 2, true>},   {4, tile<4, 2, true>},
                                       {2, tile<2, 2, true>},   {1, tile<1, 2>}};
template <>
constexpr Tile<3> kTiles<3, true>[] = {{10, tile<10, 3, true>}, {8, tile<8, 3, true>},
                                       {6, tile<6, 3, true>},   {4, tile<4, 3, true>},
                                       {2, tile<2, 3, true>},   {1, tile<1, 3>}};
#endif

// Divides the pixels of a row, or all pixels where each has a pointer, into tiles of about the same
// size.
template <int kVecs, bool kHalf = false>
HWY_INLINE void area_of(const BlockedArea& t) {
  constexpr int kMost = kHalf ? kHalfPixels[kVecs] : kPixels[kVecs];
  const bool joined = kPointers && t.y_cols == t.cols;
  const int64_t runs = joined ? 1 : t.rows, count = joined ? t.rows * t.cols : t.cols;
  const Epilogue none;
  const End<kVecs> values(TileTag(), t.end == nullptr ? none : *t.end, t.channel, t.channels,
                          kHalf);
  const End<kVecs>* end = t.end == nullptr ? nullptr : &values;
  Poll poll;
  const float* next_weights = t.weights + t.next_panel;
  for (int64_t run = 0; run < runs; ++run) {
    const float* row = t.x + run * t.x_row;
    const float* x = row;
    int64_t col = 0;
    for (int64_t left = count; left > 0;) {
      const int64_t tiles = (left + kMost - 1) / kMost, wanted = (left + tiles - 1) / tiles;
      const Tile<kVecs>* one = kTiles<kVecs, kHalf>;
      while (one->pixels > wanted) ++one;
      const float* from[kMost];
      from[0] = x;
      if (!kPointers) x += one->pixels * t.x_step;
      for (int p = 0; kPointers && p < one->pixels; ++p) {
        from[p] = x;
        x += t.x_step;
        if (++col == t.cols) col = 0, x = row += t.x_row;
      }
      if (poll(4 * t.taps.count)) return;
      const int64_t pixel = run * t.y_cols + count - left;
      left -= one->pixels;
      const bool more = left > 0 || run + 1 < runs;
      const float* next = !more ? t.x : left > 0 ? x : row + t.x_row;
      one->run(t, end, from, pixel, next, next_weights);
      next_weights += t.taps.count * kLanes;
    }
  }
}

static bool minus_zero(const float* y, int64_t n) {
  const hn::RebindToUnsigned<TileTag> du;
  const auto wanted = hn::Set(du, 0x80000000u);
  bool any = false;
  for (int64_t i = 0; i < n; i += kLanes)
    any = any || !hn::AllFalse(du, hn::Eq(hn::BitCast(du, hn::LoadU(TileTag(), y + i)), wanted));
  return any;
}

static void area(const BlockedArea& t) {
  if constexpr (kHalves) {
    if (t.half && t.vectors == 3) return area_of<3, true>(t);
    if (t.half && t.vectors == 2) return area_of<2, true>(t);
  }
  if (t.vectors == 3) return area_of<3>(t);
  t.vectors == 2 ? area_of<2>(t) : area_of<1>(t);
}

// Computes kPix outputs of each of kRows rows, whose taps are all inside them, for kernels of kSize
// x kSize, or of any size where kSize is 0.
template <int kRows, int kPix, int kSize>
HWY_NOINLINE void taps_inside(const BlockedDepthwise& t, const End<1>& end, int64_t row0,
                              int64_t col, float* y, const float* residual) {
  const TileTag d;
  TileVec acc[kRows][kPix];
#pragma GCC unroll 2
  for (int o = 0; o < kRows; ++o) {
#pragma GCC unroll 14
    for (int p = 0; p < kPix; ++p) acc[o][p] = hn::Zero(d);
  }
  const float* w = t.weights;
  const int64_t step = t.stride_w * kLanes, line = t.stride_h * t.w * kLanes;
  const int64_t kh = kSize == 0 ? t.kh : kSize, kw = kSize == 0 ? t.kw : kSize;
  for (int64_t i = 0; i < kh; ++i) {
    const int64_t r = row0 + i * t.dilation_h;
    const bool inside = r >= 0 && r + (kRows - 1) * t.stride_h < t.h;
    const float* x = t.x + (r * t.w + col) * kLanes;
    for (int64_t j = 0; j < kw; ++j, w += kLanes, x += t.dilation_w * kLanes) {
      const TileVec tap = hn::LoadU(d, w);
#pragma GCC unroll 2
      for (int o = 0; o < kRows; ++o) {
        const int64_t at = r + o * t.stride_h;
        if (HWY_UNLIKELY(!inside) && (at < 0 || at >= t.h)) {
#pragma GCC unroll 14
          for (int p = 0; p < kPix; ++p) acc[o][p] = fused_mul_add(tap, hn::Zero(d), acc[o][p]);
          continue;
        }
        const float* q = x + o * line;
#pragma GCC unroll 14
        for (int p = 0; p < kPix; ++p, q += step)
          acc[o][p] = fused_mul_add(tap, hn::LoadU(d, q), acc[o][p]);
      }
    }
  }
#pragma GCC unroll 2
  for (int o = 0; o < kRows; ++o) {
#pragma GCC unroll 14
    for (int p = 0; p < kPix; ++p) {
      const int64_t at = (o * t.ow + p) * kLanes;
      TileVec v = fused_mul_add(hn::Add(acc[o][p], end.bias[0]), end.scale[0], end.shift[0]);
      if (residual != nullptr) v = hn::Add(v, hn::LoadU(d, residual + at));
      hn::StoreU(end.clip(v), d, y + at);
    }
  }
}

// At most so many sums of taps_inside() are registers.
constexpr int kMostTapSums = HWY_TARGET == HWY_AVX3 || HWY_ARCH_ARM_A64 ? 14 : 10;

// Computes outputs of kPix consecutive rows, in a column where some taps may be padding.
template <int kPix>
HWY_NOINLINE void taps_at_edge(const BlockedDepthwise& t, const End<1>& end, int64_t row0,
                               int64_t col0, float* y, const float* residual) {
  HWY_ALIGN static constexpr float kZeros[kLanes] = {};
  const TileTag d;
  TileVec acc[kPix];
#pragma GCC unroll 4
  for (int p = 0; p < kPix; ++p) acc[p] = hn::Zero(d);
  const float* w = t.weights;
  for (int64_t i = 0; i < t.kh; ++i) {
    for (int64_t j = 0; j < t.kw; ++j, w += kLanes) {
      const int64_t c = col0 + j * t.dilation_w;
      const bool inside = c >= 0 && c < t.w;
      const TileVec tap = hn::LoadU(d, w);
#pragma GCC unroll 4
      for (int p = 0; p < kPix; ++p) {
        const int64_t r = row0 + p * t.stride_h + i * t.dilation_h;
        const float* x = inside && r >= 0 && r < t.h ? t.x + (r * t.w + c) * kLanes : kZeros;
        acc[p] = fused_mul_add(tap, hn::LoadU(d, x), acc[p]);
      }
    }
  }
#pragma GCC unroll 4
  for (int p = 0; p < kPix; ++p) {
    const int64_t at = p * t.ow * kLanes;
    TileVec v = fused_mul_add(hn::Add(acc[p], end.bias[0]), end.scale[0], end.shift[0]);
    if (residual != nullptr) v = hn::Add(v, hn::LoadU(d, residual + at));
    hn::StoreU(end.clip(v), d, y + at);
  }
}

template <int kSize>
HWY_INLINE void depthwise_rows(const BlockedDepthwise& t, int64_t first, int64_t last) {
  const TileTag d;
  const End<1> end(d, *t.end, t.channel, t.channels);
  // Outputs [lo, hi) of a row have no tap outside it.
  const int64_t reach = (t.kw - 1) * t.dilation_w;
  const int64_t lo = HWY_MIN(t.ow, (t.pad_left + t.stride_w - 1) / t.stride_w);
  const int64_t inside = t.w - 1 - reach + t.pad_left;
  const int64_t hi = HWY_MAX(lo, inside < 0 ? 0 : HWY_MIN(t.ow, inside / t.stride_w + 1));
  const auto residual = [&](int64_t o, int64_t q) {
    return t.end->residual == nullptr ? nullptr : t.end->residual + (o * t.ow + q) * kLanes;
  };
  const auto column = [&](int64_t q) { return q * t.stride_w - t.pad_left; };
  const auto row = [&](int64_t o) { return o * t.stride_h - t.pad_top; };
  const auto out = [&](int64_t o, int64_t q) { return t.y + (o * t.ow + q) * kLanes; };
  Poll poll;
  int64_t o = first, q = lo;
  const auto tiles = [&](auto rows, auto pixels) HWY_ATTR {
    constexpr int kRows = decltype(rows)::value, kPix = decltype(pixels)::value;
    if constexpr (kRows * kPix <= kMostTapSums) {
      for (; q + kPix <= hi; q += kPix)
        taps_inside<kRows, kPix, kSize>(t, end, row(o), column(q), out(o, q), residual(o, q));
    }
  };
  const auto all = [&](auto rows, int64_t wanted) HWY_ATTR {
    q = lo;
    if (wanted >= 8) tiles(rows, std::integral_constant<int, 8>());
    if (wanted >= 7) tiles(rows, std::integral_constant<int, 7>());
    if (wanted >= 5) tiles(rows, std::integral_constant<int, 5>());
    tiles(rows, std::integral_constant<int, 3>());
    tiles(rows, std::integral_constant<int, 2>());
    tiles(rows, std::integral_constant<int, 1>());
  };
  for (int64_t n; o < last; o += n) {
    const int64_t parts = (hi - lo + 7) / 8,
                  wanted = parts == 0 ? 0 : (hi - lo + parts - 1) / parts;
    // Of 3 x 3 taps, rows of several tiles are computed sooner one by one.
    const bool both = t.stride_h == 1 && (kSize == 0 || parts == 1);
    n = both && 2 * wanted <= kMostTapSums && o + 1 < last ? 2 : 1;
    if (poll(n * (hi - lo) * t.kh * t.kw)) return;
    n == 2 ? all(std::integral_constant<int, 2>(), wanted)
           : all(std::integral_constant<int, 1>(), wanted);
  }
  for (q = 0; q < t.ow; ++q) {
    if (q == lo) q = hi;
    if (q == t.ow) return;
    if (poll((last - first) * t.kh * t.kw)) return;
    for (o = first; o + 4 <= last; o += 4)
      taps_at_edge<4>(t, end, row(o), column(q), out(o, q), residual(o, q));
    for (; o < last; ++o) taps_at_edge<1>(t, end, row(o), column(q), out(o, q), residual(o, q));
  }
}

static void depthwise_part(const BlockedDepthwise& t, int64_t first, int64_t last) {
  if (t.kh == 3 && t.kw == 3) return depthwise_rows<3>(t, first, last);
  depthwise_rows<0>(t, first, last);
}

// Where many columns have taps in the padding, rows are copied with it, to a buffer that stays in
// L1: then all outputs are computed as those inside.
static void depthwise(const BlockedDepthwise& t, int64_t first, int64_t last) {
  constexpr int64_t kCopied = 384, kFewEdges = 10;  // pixels: 24 KB of the widest vectors
  const int64_t edges = (t.kw - 1) * t.dilation_w, width = t.ow + edges;
  const int64_t reach = (t.kh - 1) * t.dilation_h + 1;
  const int64_t some = kCopied / width - reach + 1;  // rows of outputs that fit
  const bool padded = t.pad_left > 0 || width > t.w;
  if (!padded || t.stride_h != 1 || t.stride_w != 1 || edges * kFewEdges < t.ow ||
      some < HWY_MIN(reach, last - first))
    return depthwise_part(t, first, last);
  HWY_ALIGN float copy[kCopied * kLanes];
  const auto bytes = [](int64_t pixels) {
    return static_cast<size_t>(pixels * kLanes) * sizeof(float);
  };
  const int64_t begin = HWY_MIN(t.pad_left, width), count = HWY_MIN(width - begin, t.w);
  for (int64_t o = first, n; o < last && !stopped(); o += n) {
    n = HWY_MIN(some, last - o);
    BlockedDepthwise part = t;
    part.x = copy, part.h = n - 1 + reach, part.w = width, part.pad_top = part.pad_left = 0;
    for (int64_t r = 0; r < part.h; ++r) {
      const int64_t from = o - t.pad_top + r;
      const bool there = from >= 0 && from < t.h;
      float* to = copy + r * width * kLanes;
      memset(to, 0, bytes(there ? begin : width));
      if (!there) continue;
      memcpy(to + begin * kLanes, t.x + from * t.w * kLanes, bytes(count));
      memset(to + (begin + count) * kLanes, 0, bytes(width - begin - count));
    }
    Epilogue end = *t.end;
    if (end.residual != nullptr) end.residual += o * t.ow * kLanes;
    part.end = &end;
    part.y = t.y + o * t.ow * kLanes;
    depthwise_part(part, 0, n);
  }
}

// Blends kSources blocks into y, from `first` on; where it is not 0, y has the lanes of those
// before.
template <int kSources>
HWY_NOINLINE void blend(const BlockedPick& t, int first) {
  static_assert(kLanes <= kMostBlock, "BlockedPick holds every lane");
  const TileTag d;
  const hn::RebindToSigned<TileTag> di;
  decltype(hn::SetTableIndices(d, t.lane[0])) index[kSources];
  hn::Mask<TileTag> mine[kSources];
  const float* x[kSources];
  for (int s = 0; s < kSources; ++s) {
    HWY_ALIGN int32_t at[kLanes];
    for (int l = 0; l < kLanes; ++l) at[l] = HWY_MAX(t.lane[first + s][l], 0);
    index[s] = hn::SetTableIndices(d, at);
    mine[s] = hn::RebindMask(d, hn::Gt(hn::LoadU(di, t.lane[first + s]), hn::Set(di, -1)));
    x[s] = t.x[first + s];
  }
  float* y = t.y;
  Poll poll;
  for (int64_t p = 0; p < t.pixels; ++p, y += kLanes) {
    if (poll(kSources)) return;
    TileVec v = first == 0 ? hn::Zero(d) : hn::LoadU(d, y);
    for (int s = 0; s < kSources; ++s) {
      const TileVec from = hn::TableLookupLanes(hn::LoadU(d, x[s] + p * kLanes), index[s]);
      v = hn::IfThenElse(mine[s], from, v);
    }
    hn::StoreU(v, d, y);
  }
}

static void pick(const BlockedPick& t) {
  int first = 0;
  for (; first + 4 <= t.sources; first += 4) blend<4>(t, first);
  if (t.sources - first == 3) blend<3>(t, first);
  if (t.sources - first == 2) blend<2>(t, first);
  if (t.sources - first == 1) blend<1>(t, first);
}

}  // namespace blocked

// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace HWY_NAMESPACE
}  // namespace wick
HWY_AFTER_NAMESPACE();

#endif  // WICK_KERNELS_BLOCKED_INL_H_
