// SIMD bodies of winograd.h, once per target.
#if defined(WICK_KERNELS_WINOGRAD_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef WICK_KERNELS_WINOGRAD_INL_H_
#undef WICK_KERNELS_WINOGRAD_INL_H_
#else
#define WICK_KERNELS_WINOGRAD_INL_H_
#endif

#include "hwy/highway.h"
#include "runtime/kernels/conv/winograd.h"
#include "runtime/kernels/gemm/tile_vec-inl.h"

HWY_BEFORE_NAMESPACE();
namespace wick {
namespace HWY_NAMESPACE {
namespace winograd {

static void inputs(const float* HWY_RESTRICT x, int64_t x_row, int64_t tiles, float* HWY_RESTRICT v,
                   int64_t v_place, int64_t v_tile) {
  const TileTag d;
  for (int64_t t = 0; t < tiles; ++t, x += 2 * kLanes, v += v_tile) {
    TileVec rows[4][4];
#pragma GCC unroll 4
    for (int c = 0; c < 4; ++c) {
      const float* from = x + c * kLanes;
      const TileVec d0 = hn::LoadU(d, from), d1 = hn::LoadU(d, from + x_row);
      const TileVec d2 = hn::LoadU(d, from + 2 * x_row), d3 = hn::LoadU(d, from + 3 * x_row);
      rows[0][c] = hn::Sub(d0, d2);
      rows[1][c] = hn::Add(d1, d2);
      rows[2][c] = hn::Sub(d2, d1);
      rows[3][c] = hn::Sub(d1, d3);
    }
    float* to = v;
#pragma GCC unroll 4
    for (int r = 0; r < 4; ++r, to += 4 * v_place) {
      const TileVec* q = rows[r];
      hn::StoreU(hn::Sub(q[0], q[2]), d, to);
      hn::StoreU(hn::Add(q[1], q[2]), d, to + v_place);
      hn::StoreU(hn::Sub(q[2], q[1]), d, to + 2 * v_place);
      hn::StoreU(hn::Sub(q[1], q[3]), d, to + 3 * v_place);
    }
  }
}

static void outputs(const float* HWY_RESTRICT m, int64_t m_place, int64_t m_tile, int64_t tiles,
                    float* HWY_RESTRICT y, int64_t y_row) {
  const TileTag d;
  for (int64_t t = 0; t < tiles; ++t, m += m_tile, y += 2 * kLanes) {
    TileVec rows[2][4];
#pragma GCC unroll 4
    for (int c = 0; c < 4; ++c) {
      const float* from = m + c * m_place;
      const TileVec m0 = hn::LoadU(d, from), m1 = hn::LoadU(d, from + 4 * m_place);
      const TileVec m2 = hn::LoadU(d, from + 8 * m_place);
      const TileVec m3 = hn::LoadU(d, from + 12 * m_place);
      rows[0][c] = hn::Add(hn::Add(m0, m1), m2);
      rows[1][c] = hn::Sub(hn::Sub(m1, m2), m3);
    }
#pragma GCC unroll 2
    for (int r = 0; r < 2; ++r) {
      const TileVec* q = rows[r];
      hn::StoreU(hn::Add(hn::Add(q[0], q[1]), q[2]), d, y + r * y_row);
      hn::StoreU(hn::Sub(hn::Sub(q[1], q[2]), q[3]), d, y + r * y_row + kLanes);
    }
  }
}

}  // namespace winograd

static const WinogradKernels* winograd_set() {
  static constexpr WinogradKernels kSet = {&winograd::inputs, &winograd::outputs};
  return &kSet;
}

// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace HWY_NAMESPACE
}  // namespace wick
HWY_AFTER_NAMESPACE();

#endif  // WICK_KERNELS_WINOGRAD_INL_H_
