// The two inner loops of depthwise.h, compiled once per target.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "trainer/kernels/depthwise.cc"
#include "trainer/kernels/depthwise.h"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "runtime/kernels/gemm/tile_vec-inl.h"

HWY_BEFORE_NAMESPACE();
namespace wick {
namespace HWY_NAMESPACE {
namespace depthwise {

// Computes `n` neighbouring outputs of a row, with a chain of sums for each.
template <int n>
HWY_INLINE void pixels(const DepthwiseMap& m, const float* x, const float* w, float* out,
                       int64_t out_col) {
  const TileTag d;
  TileVec sum[n];
  for (int i = 0; i < n; ++i) sum[i] = hn::Zero(d);
  for (int64_t t = 0; t < m.taps; ++t) {
    const TileVec weight = hn::LoadU(d, w + t * kLanes);
    const float* p = x + m.offset[t];
    for (int i = 0; i < n; ++i)
      sum[i] = fused_mul_add(weight, hn::LoadU(d, p + i * m.x_col), sum[i]);
  }
  for (int i = 0; i < n; ++i) hn::StoreU(sum[i], d, out + i * out_col);
}

static void outputs(const DepthwiseMap& m, const float* w, float* out, int64_t out_row,
                    int64_t out_col) {
  for (int64_t i = 0; i < m.rows; ++i) {
    const float* x = m.x + i * m.x_row;
    float* to = out + i * out_row;
    int64_t j = 0;
    for (; j + 8 <= m.cols; j += 8) pixels<8>(m, x + j * m.x_col, w, to + j * out_col, out_col);
    for (; j + 4 <= m.cols; j += 4) pixels<4>(m, x + j * m.x_col, w, to + j * out_col, out_col);
    for (; j + 2 <= m.cols; j += 2) pixels<2>(m, x + j * m.x_col, w, to + j * out_col, out_col);
    for (; j < m.cols; ++j) pixels<1>(m, x + j * m.x_col, w, to + j * out_col, out_col);
  }
}

// Computes `n` taps starting at `tap`.
template <int n>
HWY_INLINE void taps(const DepthwiseMap& m, const float* dy, int64_t tap, float* sums) {
  const TileTag d;
  TileVec sum[n];
  int64_t at[n];
  for (int t = 0; t < n; ++t) {
    sum[t] = hn::LoadU(d, sums + (tap + t) * kLanes);
    at[t] = m.offset[tap + t];
  }
  for (int64_t i = 0; i < m.rows; ++i) {
    const float* x = m.x + i * m.x_row;
    for (int64_t j = 0; j < m.cols; ++j, x += m.x_col, dy += kLanes) {
      const TileVec g = hn::LoadU(d, dy);
      for (int t = 0; t < n; ++t) sum[t] = fused_mul_add(hn::LoadU(d, x + at[t]), g, sum[t]);
    }
  }
  for (int t = 0; t < n; ++t) hn::StoreU(sum[t], d, sums + (tap + t) * kLanes);
}

static void weights(const DepthwiseMap& m, const float* dy, float* sums) {
  int64_t t = 0;
  for (; m.taps - t >= 9; t += 9) taps<9>(m, dy, t, sums);
  for (; m.taps - t >= 8; t += 8) taps<8>(m, dy, t, sums);
  for (; m.taps - t >= 3; t += 3) taps<3>(m, dy, t, sums);
  for (; t < m.taps; ++t) taps<1>(m, dy, t, sums);
}

}  // namespace depthwise

static const DepthwiseKernels* find_depthwise() {
  static const DepthwiseKernels kernels = {kLanes, depthwise::outputs, depthwise::weights};
  return &kernels;
}

}  // namespace HWY_NAMESPACE
}  // namespace wick
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace wick {

HWY_EXPORT(find_depthwise);
const DepthwiseKernels& depthwise_kernels() { return *HWY_DYNAMIC_DISPATCH(find_depthwise)(); }

}  // namespace wick
#endif
