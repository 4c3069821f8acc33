// GridSample and AffineGrid.
#include "runtime/backend/vulkan/graph/window.h"

namespace wick::vulkan {
namespace {

constexpr int64_t kMaxExtent = int64_t{1} << 22;  // a position and its fraction are two floats

Status lower_grid_sample(const OpCall& call, Lowered& out) {
  const auto& a = *static_cast<const GridSampleAttrs*>(call.attrs);
  const Shape &x = call.in[0].shape, &y = call.out[0].shape;
  const int spatial = x.rank() - 2;
  int64_t extent[3] = {1, 1, 1};
  for (int i = 0; i < spatial; ++i) {
    if (x[2 + i] > kMaxExtent) return unsupported("an image too large for coordinates of floats");
    extent[3 - spatial + i] = x[2 + i];
  }
  Dispatch d = flat_dispatch(ShaderId::k_grid_sample_f32, call.out[0].numel());
  add_spec(d, static_cast<uint32_t>(spatial));
  add_spec(d, static_cast<uint32_t>(a.mode));
  add_spec(d, static_cast<uint32_t>(a.padding));
  add_spec(d, a.align_corners != 0 ? 1 : 0);
  add_push(d, call.out[0].numel());
  add_push(d, x[1]);
  add_push(d, call.out[0].numel() / (y[0] * y[1]));
  add_pushes(d, extent);
  add_operand(d, 0);
  add_operand(d, 1);
  add_operand(d, out_operand(0));
  return out.dispatches.push_back(d);
}

// Maps point i of `extent` to -1 .. 1: at the points' centers, or (align) from the first to the
// last.
double grid_point(int64_t i, int64_t extent, bool align) {
  const auto n = static_cast<double>(extent), at = static_cast<double>(i);
  if (align) return extent == 1 ? 0.0 : 2 * at / (n - 1) - 1;
  return (2 * at + 1) / n - 1;
}

Status lower_affine_grid(const OpCall& call, Lowered& out) {
  const bool align = static_cast<const AffineGridAttrs*>(call.attrs)->align_corners != 0;
  const Shape& y = call.out[0].shape;
  const int spatial = y.rank() - 2;
  int64_t dims[3] = {};
  for (int i = 0; i < spatial; ++i) {
    const int64_t extent = y[1 + i];
    dims[3 - spatial + i] = extent;
    WICK_TRY(out.table.reserve(out.table.size() + static_cast<size_t>(extent)));
    for (int64_t k = 0; k < extent; ++k) {
      WICK_TRY(out.table.push_back(
          std::bit_cast<uint32_t>(static_cast<float>(grid_point(k, extent, align)))));
    }
  }
  Dispatch d = flat_dispatch(ShaderId::k_affine_grid_f32, call.out[0].numel());
  add_spec(d, static_cast<uint32_t>(spatial));
  add_push(d, call.out[0].numel());
  add_push(d, call.out[0].numel() / (y[0] * spatial));
  add_pushes(d, dims);
  add_operand(d, 0);
  add_operand(d, kTableOperand);
  add_operand(d, out_operand(0));
  return out.dispatches.push_back(d);
}

}  // namespace

WICK_VULKAN(GridSample, {.lower = lower_grid_sample});
WICK_VULKAN(AffineGrid, {.lower = lower_affine_grid});

}  // namespace wick::vulkan
