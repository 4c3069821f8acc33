// The body of byte_windows.h, for the target that shuffles bytes in 512-bit vectors and sums
// products of four.
#if defined(WICK_KERNELS_BYTE_WINDOWS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef WICK_KERNELS_BYTE_WINDOWS_INL_H_
#undef WICK_KERNELS_BYTE_WINDOWS_INL_H_
#else
#define WICK_KERNELS_BYTE_WINDOWS_INL_H_
#endif

#include "hwy/highway.h"
#include "runtime/core/stop.h"
#include "runtime/kernels/bytes/byte_end-inl.h"
#include "runtime/kernels/bytes/byte_windows.h"

#if HWY_TARGET == HWY_AVX3_DL
// Highway 1.0.3 names another instruction set here; with two attributes Clang uses the first.
HWY_PUSH_ATTRIBUTES(HWY_TARGET_STR ",avx512vnni")
namespace wick {
namespace HWY_NAMESPACE {

// The state that all blocks of a plane share.
struct WindowPlane {
  const uint8_t* x;
  const uint32_t* weights;
  __m512i add, zero, flip;
  __m512 multiplier, hi;
};

template <int kVectors, int kRows, bool kFlip, bool kInside>
static HWY_INLINE void window_block(const ByteWindows& t, const ByteWindowBlock& b,
                                    const WindowPlane& p, ByteRowsEnd& e, uint8_t* y,
                                    int32_t* sums) {
  const int64_t rows = kRows > 0 ? kRows : t.rows, quads = kRows > 0 ? 1 : t.quads;
  __m512i sum[kVectors];
#pragma GCC unroll 4
  for (int v = 0; v < kVectors; ++v) {
    sum[v] = p.add;
    const uint8_t* x = p.x + b.x[v];
    const int64_t kind = b.kind[v] * quads;
#pragma GCC unroll 3
    for (int64_t r = 0; r < rows; ++r, x += t.row_step) {
      __m512i window;
      if (kInside) {
        window = _mm512_loadu_si512(x);
      } else {
        const uint64_t clip = t.clips[b.clip + v * rows + r];
        window = _mm512_mask_loadu_epi8(p.zero, clip, x);
      }
      for (int64_t q = 0; q < quads; ++q) {
        const __m512i order = _mm512_load_si512(t.order + (kind + q) * kWindow);
        __m512i taps = _mm512_mask_permutexvar_epi8(p.zero, t.valid[kind + q], order, window);
        if (kFlip) taps = _mm512_xor_si512(taps, p.flip);
        const __m512i w = _mm512_set1_epi32(static_cast<int32_t>(p.weights[r * quads + q]));
        sum[v] = _mm512_dpbusd_epi32(sum[v], taps, w);
      }
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
    const __m512 real = _mm512_mul_ps(_mm512_cvtepi32_ps(sum[v]), p.multiplier);
    return _mm512_cvtps_epi32(_mm512_min_ps(real, p.hi));
  };
  put_whole(e, whole, y + b.y);
}

template <int kVectors, int kRows, bool kFlip>
static HWY_INLINE void window_block_of(const ByteWindows& t, const ByteWindowBlock& b,
                                       const WindowPlane& p, ByteRowsEnd& e, uint8_t* y,
                                       int32_t* sums) {
  if (b.clip < 0) return window_block<kVectors, kRows, kFlip, true>(t, b, p, e, y, sums);
  window_block<kVectors, kRows, kFlip, false>(t, b, p, e, y, sums);
}

template <int kRows, bool kFlip>
static HWY_NOINLINE void window_planes(const ByteWindows& t) {
  ByteRowsEnd e{};
  e.lo = t.lo, e.hi = t.hi, e.zero = t.zero;
  WindowPlane p;
  p.zero = _mm512_set1_epi8(static_cast<char>(t.x_zero));
  p.flip = _mm512_set1_epi8(static_cast<char>(t.flip));
  p.hi = _mm512_set1_ps(t.hi);
  const int64_t words = t.rows * t.quads;
  Poll poll;
  for (int64_t plane = 0; plane < t.planes; ++plane) {
    p.x = t.x + plane * t.x_plane;
    p.weights = t.weights + plane * words;
    p.add = _mm512_set1_epi32(t.sums == nullptr ? t.add[plane] : 0);
    p.multiplier = _mm512_set1_ps(t.sums == nullptr ? t.multiplier[plane] : 0);
    uint8_t* y = t.y + plane * t.y_plane;
    int32_t* sums = t.sums;
    for (int64_t i = 0; i < t.block_count; ++i) {
      if (poll(words * kByteColumns)) return;
      const ByteWindowBlock& b = t.blocks[i];
      switch (b.vectors) {
        case 1: window_block_of<1, kRows, kFlip>(t, b, p, e, y, sums); break;
        case 2: window_block_of<2, kRows, kFlip>(t, b, p, e, y, sums); break;
        case 3: window_block_of<3, kRows, kFlip>(t, b, p, e, y, sums); break;
        default: window_block_of<4, kRows, kFlip>(t, b, p, e, y, sums);
      }
      if (sums != nullptr) sums += kByteColumns;
    }
  }
}

static void byte_windows(const ByteWindows& t) {
  const bool three = t.rows == 3 && t.quads == 1;
  if (t.flip != 0) return three ? window_planes<3, true>(t) : window_planes<0, true>(t);
  three ? window_planes<3, false>(t) : window_planes<0, false>(t);
}

}  // namespace HWY_NAMESPACE
}  // namespace wick
HWY_AFTER_NAMESPACE();
#endif

#endif
