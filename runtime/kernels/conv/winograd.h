// Winograd's F(2x2, 3x3) for convolutions of f32 (takes_winograd() in runtime/ops/products.h): a
// tile of 2x2 outputs reads 4x4 inputs and takes 16 products a channel instead of 36. Its order, of
// docs/numerics.md, every step rounded, each transform over the rows first and then the columns:
//
//   inputs   v = (d0 - d2, d1 + d2, d2 - d1, d1 - d3), zeros beyond the image
//   weights  u = (g0, ((g0 + g2) + g1) / 2, ((g0 + g2) - g1) / 2, g2)
//   sums     m = fma(v, u, m) at each of the 16 places, the channels ascending, from +0
//   outputs  y = ((m0 + m1) + m2, (m1 - m2) - m3), then the epilogue
#pragma once

#include <cstdint>

#include "runtime/kernels/blocked/blocked.h"
#include "runtime/kernels/kernel.h"

namespace wick {

constexpr int kWinogradPlaces = 16;

// Transforms the nine weights of a channel; u has kWinogradPlaces.
inline void winograd_weights(const float* g, float* u) {
  float rows[4][3];
  const auto line = [](float a, float b, float c, float* to, int step) {
    const float ends = a + c;
    to[0] = a;
    to[step] = (ends + b) * 0.5f;
    to[2 * step] = (ends - b) * 0.5f;
    to[3 * step] = c;
  };
  for (int c = 0; c < 3; ++c) line(g[c], g[3 + c], g[6 + c], &rows[0][c], 3);
  for (int r = 0; r < 4; ++r) line(rows[r][0], rows[r][1], rows[r][2], u + 4 * r, 1);
}

// One set of these per SIMD target. A block of channels has one channel per lane, as in blocked.h.
struct WinogradKernels {
  // Transforms the inputs of `tiles` tiles beside each other, for one block of channels: x is their
  // first pixel, x_row the stride of rows. Place p of tile t goes to v + p * v_place + t * v_tile.
  void (*inputs)(const float* x, int64_t x_row, int64_t tiles, float* v, int64_t v_place,
                 int64_t v_tile);
  // Transforms the sums of `tiles` tiles back into two rows of 2 * tiles pixels.
  void (*outputs)(const float* m, int64_t m_place, int64_t m_tile, int64_t tiles, float* y,
                  int64_t y_row);
};
const WinogradKernels& winograd_kernels();

bool winograd_fits(const KernelQuery& q);
bool winograd_blocked_fits(const KernelQuery& q);
Status plan_winograd(const KernelQuery& q, KernelPlan* p);
Status pack_winograd(const KernelQuery& q, const KernelPlan& p, int slot, void* dst);
Status run_winograd(const KernelCtx& ctx, Span<const TensorView> in, Span<TensorView> out,
                    const void* attrs);
Status run_fused_winograd(const KernelCtx& ctx, Span<const TensorView> in, Span<TensorView> out,
                          const void* attrs);

// The rows of Conv and FusedConv, for plain values and for values in blocks of channels.
constexpr KernelRow kWinogradConv = {"conv.f32.winograd", kContiguous,   winograd_fits,
                                     plan_winograd,       pack_winograd, run_winograd};
constexpr KernelRow kWinogradFusedConv = {
    "fused_conv.f32.winograd", kContiguous, winograd_fits, plan_winograd, pack_winograd,
    run_fused_winograd};
constexpr KernelRow kBlockedWinogradConv = {"conv.f32.winograd.blocked",
                                            kBlocked,
                                            winograd_blocked_fits,
                                            plan_winograd,
                                            pack_winograd,
                                            run_winograd};
constexpr KernelRow kBlockedWinogradFusedConv = {"fused_conv.f32.winograd.blocked",
                                                 kBlocked,
                                                 winograd_blocked_fits,
                                                 plan_winograd,
                                                 pack_winograd,
                                                 run_fused_winograd};

}  // namespace wick
