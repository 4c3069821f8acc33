// SIMD bodies of blocked.h, once per target.
#if defined(WICK_KERNELS_BLOCKED_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef WICK_KERNELS_BLOCKED_INL_H_
#undef WICK_KERNELS_BLOCKED_INL_H_
#else
#define WICK_KERNELS_BLOCKED_INL_H_
#endif

#include "hwy/highway.h"
#include "runtime/core/stop.h"
#include "runtime/kernels/blocked.h"
#include "runtime/kernels/tile_vec-inl.h"

HWY_BEFORE_NAMESPACE();
namespace wick {
namespace HWY_NAMESPACE {
namespace blocked {
namespace hn = hwy::HWY_NAMESPACE;

// Pixels of the largest tile, whose sums take most of the registers.
#if HWY_TARGET == HWY_AVX3
constexpr int kPixels = 14;
#elif HWY_ARCH_ARM_A64
constexpr int kPixels = 10;
#else
constexpr int kPixels = 6;
#endif

// Bias, scale and shift, residual and clip, of which relu and no activation at all are the first
// half: the end of a sum that stays in registers.
template <int kVecs>
struct End {
  TileVec bias[kVecs], scale[kVecs], shift[kVecs], low, high;

  HWY_INLINE End(const TileTag d, const Epilogue& e, int64_t channel, int64_t channels)
      : low(hn::Set(d, lower_bound(e))),
        high(hn::Set(d, e.act == Activation::kClip ? e.beta : __builtin_huge_valf())) {
#pragma GCC unroll 2
    for (int v = 0; v < kVecs; ++v) {
      const int64_t at = channel + v * kLanes;
      const int n = static_cast<int>(HWY_MIN(int64_t{kLanes}, channels - at));
      // y + -0 is y, whatever y, and fma(y, 1, -0) is.
      bias[v] = e.bias == nullptr ? hn::Set(d, -0.0f) : load_n(d, e.bias + at, n);
      scale[v] = e.scale == nullptr ? hn::Set(d, 1.0f) : load_n(d, e.scale + at, n);
      shift[v] = e.scale == nullptr ? hn::Set(d, -0.0f) : load_n(d, e.shift + at, n);
    }
  }
  HWY_INLINE TileVec clip(TileVec y) const {
    y = hn::IfThenElse(hn::Le(y, low), low, y);
    return hn::IfThenElse(hn::Ge(y, high), high, y);
  }
};

template <int kPix, int kVecs>
HWY_NOINLINE void tile(const BlockedRow& t, const float* x, float* y, const float* residual) {
  const TileTag d;
  TileVec acc[kPix][kVecs];
#pragma GCC unroll 16
  for (int p = 0; p < kPix; ++p) {
#pragma GCC unroll 2
    for (int v = 0; v < kVecs; ++v) acc[p][v] = hn::Zero(d);
  }
  if (t.resume) {
#pragma GCC unroll 16
    for (int p = 0; p < kPix; ++p) {
#pragma GCC unroll 2
      for (int v = 0; v < kVecs; ++v) acc[p][v] = hn::LoadU(d, y + v * t.y_vector + p * kLanes);
    }
  }
  const float* w = t.weights;
  const int32_t* offset = t.offset;
  const int64_t step = t.x_step, step3 = 3 * t.x_step;
  for (int64_t k = t.k; k > 0; --k, w += kBlockedVectors * kLanes) {
    const float* q = x + *offset++;
    TileVec b[kVecs];
#pragma GCC unroll 2
    for (int v = 0; v < kVecs; ++v) b[v] = hn::LoadU(d, w + v * kLanes);
#pragma GCC unroll 16
    for (int p = 0; p < kPix; ++p) {
      const int turn = p % 3;
      const TileVec a = hn::Set(d, turn == 0 ? q[0] : turn == 1 ? q[step] : q[2 * step]);
#pragma GCC unroll 2
      for (int v = 0; v < kVecs; ++v) acc[p][v] = fused_mul_add(a, b[v], acc[p][v]);
      if (turn == 2) {
        q += step3;
        WICK_OPAQUE(q);
      }
    }
  }
  if (t.end != nullptr) {
    const End<kVecs> end(d, *t.end, t.channel, t.channels);
#pragma GCC unroll 16
    for (int p = 0; p < kPix; ++p) {
#pragma GCC unroll 2
      for (int v = 0; v < kVecs; ++v) acc[p][v] = hn::Add(acc[p][v], end.bias[v]);
    }
    if (t.end->scale != nullptr) {
#pragma GCC unroll 16
      for (int p = 0; p < kPix; ++p) {
#pragma GCC unroll 2
        for (int v = 0; v < kVecs; ++v)
          acc[p][v] = fused_mul_add(acc[p][v], end.scale[v], end.shift[v]);
      }
    }
    if (residual != nullptr) {
#pragma GCC unroll 16
      for (int p = 0; p < kPix; ++p) {
#pragma GCC unroll 2
        for (int v = 0; v < kVecs; ++v)
          acc[p][v] = hn::Add(acc[p][v], hn::LoadU(d, residual + v * t.y_vector + p * kLanes));
      }
    }
#pragma GCC unroll 16
    for (int p = 0; p < kPix; ++p) {
#pragma GCC unroll 2
      for (int v = 0; v < kVecs; ++v) acc[p][v] = end.clip(acc[p][v]);
    }
  }
#pragma GCC unroll 16
  for (int p = 0; p < kPix; ++p) {
#pragma GCC unroll 2
    for (int v = 0; v < kVecs; ++v) hn::StoreU(acc[p][v], d, y + v * t.y_vector + p * kLanes);
  }
}

using TileOf = void (*)(const BlockedRow&, const float*, float*, const float*);
struct Tile {
  int pixels;
  TileOf run;
};

// In falling order, down to one pixel.
template <int kVecs>
constexpr Tile kTiles[] = {
#if HWY_TARGET == HWY_AVX3
    {14, tile<14, kVecs>}, {13, tile<13, kVecs>}, {12, tile<12, kVecs>}, {10, tile<10, kVecs>},
    {9, tile<9, kVecs>},   {7, tile<7, kVecs>},   {4, tile<4, kVecs>},   {2, tile<2, kVecs>},
#elif HWY_ARCH_ARM_A64
    {10, tile<10, kVecs>}, {8, tile<8, kVecs>}, {7, tile<7, kVecs>},
    {5, tile<5, kVecs>},   {4, tile<4, kVecs>}, {2, tile<2, kVecs>},
#else
    {6, tile<6, kVecs>}, {5, tile<5, kVecs>}, {4, tile<4, kVecs>},
    {3, tile<3, kVecs>}, {2, tile<2, kVecs>},
#endif
    {1, tile<1, kVecs>}};

// Tiles of about the same size.
template <int kVecs>
HWY_INLINE void row_of(const BlockedRow& t) {
  const float* x = t.x;
  const float* residual = t.end == nullptr ? nullptr : t.end->residual;
  int64_t at = 0;
  for (int64_t left = t.count; left > 0;) {
    const int64_t tiles = (left + kPixels - 1) / kPixels, wanted = (left + tiles - 1) / tiles;
    const Tile* one = kTiles<kVecs>;
    while (one->pixels > wanted) ++one;
    one->run(t, x, t.y + at, residual == nullptr ? nullptr : residual + at);
    left -= one->pixels;
    at += one->pixels * kLanes;
    x += one->pixels * t.x_step;
  }
}

static void row(const BlockedRow& t) { t.vectors == 2 ? row_of<2>(t) : row_of<1>(t); }

// kPix outputs whose taps all lie within the row.
template <int kPix>
HWY_INLINE void taps_inside(const BlockedDepthwise& t, const End<1>& end, int64_t row0, int64_t col,
                            float* y, const float* residual) {
  const TileTag d;
  TileVec acc[kPix];
#pragma GCC unroll 8
  for (int p = 0; p < kPix; ++p) acc[p] = hn::Zero(d);
  const float* w = t.weights;
  const int64_t step = t.stride_w * kLanes;
  for (int64_t i = 0; i < t.kh; ++i) {
    const int64_t r = row0 + i * t.dilation_h;
    if (r < 0 || r >= t.h) {
      for (int64_t j = 0; j < t.kw; ++j, w += kLanes) {
        const TileVec tap = hn::LoadU(d, w);
#pragma GCC unroll 8
        for (int p = 0; p < kPix; ++p) acc[p] = fused_mul_add(tap, hn::Zero(d), acc[p]);
      }
      continue;
    }
    const float* x = t.x + (r * t.w + col) * kLanes;
    for (int64_t j = 0; j < t.kw; ++j, w += kLanes, x += t.dilation_w * kLanes) {
      const TileVec tap = hn::LoadU(d, w);
      const float* q = x;
#pragma GCC unroll 8
      for (int p = 0; p < kPix; ++p, q += step)
        acc[p] = fused_mul_add(tap, hn::LoadU(d, q), acc[p]);
    }
  }
#pragma GCC unroll 8
  for (int p = 0; p < kPix; ++p) {
    TileVec v = fused_mul_add(hn::Add(acc[p], end.bias[0]), end.scale[0], end.shift[0]);
    if (residual != nullptr) v = hn::Add(v, hn::LoadU(d, residual + p * kLanes));
    hn::StoreU(end.clip(v), d, y + p * kLanes);
  }
}

// One output, some of whose taps may be padding.
HWY_INLINE void taps_at_edge(const BlockedDepthwise& t, const End<1>& end, int64_t row0,
                             int64_t col0, float* y, const float* residual) {
  const TileTag d;
  TileVec acc = hn::Zero(d);
  const float* w = t.weights;
  for (int64_t i = 0; i < t.kh; ++i) {
    const int64_t r = row0 + i * t.dilation_h;
    const bool row_inside = r >= 0 && r < t.h;
    for (int64_t j = 0; j < t.kw; ++j, w += kLanes) {
      const int64_t c = col0 + j * t.dilation_w;
      const bool inside = row_inside && c >= 0 && c < t.w;
      const TileVec x = inside ? hn::LoadU(d, t.x + (r * t.w + c) * kLanes) : hn::Zero(d);
      acc = fused_mul_add(hn::LoadU(d, w), x, acc);
    }
  }
  acc = fused_mul_add(hn::Add(acc, end.bias[0]), end.scale[0], end.shift[0]);
  if (residual != nullptr) acc = hn::Add(acc, hn::LoadU(d, residual));
  hn::StoreU(end.clip(acc), d, y);
}

static void depthwise(const BlockedDepthwise& t, int64_t first, int64_t last) {
  const TileTag d;
  const End<1> end(d, *t.end, t.channel, t.channels);
  // Outputs [lo, hi) of a row have no tap beside it.
  const int64_t reach = (t.kw - 1) * t.dilation_w;
  const int64_t lo = HWY_MIN(t.ow, (t.pad_left + t.stride_w - 1) / t.stride_w);
  const int64_t inside = t.w - 1 - reach + t.pad_left;
  const int64_t hi = HWY_MAX(lo, inside < 0 ? 0 : HWY_MIN(t.ow, inside / t.stride_w + 1));
  Poll poll;
  for (int64_t o = first; o < last; ++o) {
    if (poll(t.ow * t.kh * t.kw)) return;
    const int64_t row0 = o * t.stride_h - t.pad_top;
    float* y = t.y + o * t.ow * kLanes;
    const float* res = t.end->residual == nullptr ? nullptr : t.end->residual + o * t.ow * kLanes;
    const auto residual = [&](int64_t q) { return res == nullptr ? nullptr : res + q * kLanes; };
    const auto column = [&](int64_t q) { return q * t.stride_w - t.pad_left; };
    int64_t q = 0;
    for (; q < lo; ++q) taps_at_edge(t, end, row0, column(q), y + q * kLanes, residual(q));
    for (; q + 8 <= hi; q += 8)
      taps_inside<8>(t, end, row0, column(q), y + q * kLanes, residual(q));
    if (q + 4 <= hi) {
      taps_inside<4>(t, end, row0, column(q), y + q * kLanes, residual(q));
      q += 4;
    }
    if (q + 2 <= hi) {
      taps_inside<2>(t, end, row0, column(q), y + q * kLanes, residual(q));
      q += 2;
    }
    for (; q < t.ow; ++q) taps_at_edge(t, end, row0, column(q), y + q * kLanes, residual(q));
  }
}

}  // namespace blocked

// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace HWY_NAMESPACE
}  // namespace wick
HWY_AFTER_NAMESPACE();

#endif  // WICK_KERNELS_BLOCKED_INL_H_
