// GridSample of float32: the points' pixels and weights are found once for all channels, then many
// points of a channel are summed at once. The order of each sum is the reference's.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "runtime/kernels/window/grid_sample.cc"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "runtime/core/byte_count.h"
#include "runtime/kernels/kernel_set.h"
#include "runtime/kernels/math/fused-inl.h"
#include "runtime/kernels/reference/sampler.h"

#ifndef WICK_KERNELS_GRID_SAMPLE_BODY_
#define WICK_KERNELS_GRID_SAMPLE_BODY_
namespace wick {
// A block of points. Tap t of dim d of point p reads `at[d][t][p]` elements from where the dims
// before it point to; -1: it reads none.
constexpr int64_t kGridBlock = 256;
struct GridTaps {
  int32_t at[3][reference::kMostTaps][kGridBlock];
  float weight[3][reference::kMostTaps][kGridBlock];
};
// Writes the first n points of a plane x to y.
using GridBody = void (*)(const GridTaps& taps, const float* x, int64_t n, float* y);
// How many taps a point has in each dim; 1: its pixel is copied.
using FindGridBody = GridBody (*)(int dims, int taps);
}  // namespace wick
#endif

HWY_BEFORE_NAMESPACE();
namespace wick {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;
namespace grid_sample {

using D = hn::CappedTag<float, 16>;
using DI = hn::RebindToSigned<D>;
using V = hn::Vec<D>;
using VI = hn::Vec<DI>;

template <int d, int dims, int count>
HWY_INLINE V weighted(const GridTaps& taps, const float* x, VI base, int64_t p) {
  V sum = hn::Zero(D());
  for (int t = 0; t < count; ++t) {
    const VI at = hn::LoadU(DI(), taps.at[d][t] + p);
    const auto there = hn::RebindMask(D(), hn::Gt(at, hn::Set(DI(), -1)));
    const VI next = hn::Add(base, hn::Max(at, hn::Zero(DI())));
    V value;
    if constexpr (d + 1 == dims) {
      value = hn::GatherIndex(D(), x, next);
    } else {
      value = weighted<d + 1, dims, count>(taps, x, next, p);
    }
    // What is not read adds nothing, not even 0 times an infinity.
    const V more = fused_mul_add(hn::LoadU(D(), taps.weight[d][t] + p), value, sum);
    sum = hn::IfThenElse(there, more, sum);
  }
  return sum;
}

template <int dims>
HWY_INLINE V nearest(const GridTaps& taps, const float* x, int64_t p) {
  VI place = hn::Zero(DI()), signs = place;
  for (int d = 0; d < dims; ++d) {
    const VI at = hn::LoadU(DI(), taps.at[d][0] + p);
    signs = hn::Or(signs, at);
    place = hn::Add(place, hn::Max(at, hn::Zero(DI())));
  }
  return hn::IfThenElseZero(hn::RebindMask(D(), hn::Gt(signs, hn::Set(DI(), -1))),
                            hn::GatherIndex(D(), x, place));
}

template <int dims, int count>
static void sample(const GridTaps& taps, const float* x, int64_t n, float* y) {
  const auto lanes = static_cast<int64_t>(hn::Lanes(D()));
  for (int64_t p = 0; p < n; p += lanes) {
    V value;
    if constexpr (count == 1) {
      value = nearest<dims>(taps, x, p);
    } else {
      value = weighted<0, dims, count>(taps, x, hn::Zero(DI()), p);
    }
    if (p + lanes <= n) {
      hn::StoreU(value, D(), y + p);
    } else {
      HWY_ALIGN float last[hn::MaxLanes(D())];
      hn::Store(value, D(), last);
      for (int64_t i = p; i < n; ++i) y[i] = last[i - p];
    }
  }
}

}  // namespace grid_sample

static GridBody find_grid_sample(int dims, int taps) {
  using namespace grid_sample;  // NOLINT: of this target
  static constexpr GridBody kBodies[2][3] = {{sample<2, 1>, sample<2, 2>, sample<2, 4>},
                                             {sample<3, 1>, sample<3, 2>, sample<3, 4>}};
  return kBodies[dims - 2][taps == 4 ? 2 : taps - 1];
}

}  // namespace HWY_NAMESPACE
}  // namespace wick
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace wick {
namespace {

using reference::Reach;
using reference::Sampler;

HWY_EXPORT(find_grid_sample);

// Positions within a plane are numbers of 32 bits.
bool match(const KernelQuery& q) {
  const TensorView& x = q.in[0];
  if (x.dtype != DType::kF32 || q.in[1].dtype != DType::kF32) return false;
  if (x.rank() != 4 && x.rank() != 5) return false;
  if (x.numel() == 0 || q.out[0].numel() == 0) return false;
  return x.numel() / (x.shape[0] * x.shape[1]) <= INT32_MAX;
}

Status plan(const KernelQuery& q, KernelPlan* p) {
  const auto mode = static_cast<ResizeMode>(q.as<GridSampleAttrs>().mode);
  const int taps = mode == ResizeMode::kNearest ? 1 : mode == ResizeMode::kLinear ? 2 : 4;
  p->keep(HWY_DYNAMIC_DISPATCH(find_grid_sample)(q.in[0].rank() - 2, taps));
  p->scratch_bytes = byte_count(sizeof(GridTaps) * static_cast<uint64_t>(q.threads));
  return {};
}

// Points from `first` on of the grid, n of them, along a dim of x.
void find_taps(const Sampler& sampler, const float* grid, int64_t n, int dims, int64_t extent,
               int64_t step, int d, GridTaps* taps) {
  for (int64_t p = 0; p < n; ++p) {
    // The grid's last coordinate belongs to the first dim.
    const Reach r = sampler.reach(static_cast<double>(grid[p * dims + dims - 1 - d]), extent);
    for (int t = 0; t < r.count; ++t) {
      taps->at[d][t][p] = r.weight[t] == 0 ? -1 : static_cast<int32_t>(r.at[t] * step);
      taps->weight[d][t][p] = static_cast<float>(r.weight[t]);
    }
  }
  // Vectors read a whole number of them.
  for (int t = 0; t < reference::kMostTaps; ++t) {
    for (int64_t p = n; p < kGridBlock && p < n + 16; ++p) {
      taps->at[d][t][p] = -1;
      taps->weight[d][t][p] = 0;
    }
  }
}

Status run(const KernelCtx& ctx, Span<const TensorView> in, Span<TensorView> out,
           const void* attrs) {
  const auto body = ctx.plan->kept<GridBody>();
  const Sampler sampler(*static_cast<const GridSampleAttrs*>(attrs));
  const Shape& x = in[0].shape;
  const int dims = x.rank() - 2;
  const int64_t channels = x[1], points = out[0].numel() / (x[0] * channels);
  const int64_t plane = in[0].numel() / (x[0] * channels);
  const int64_t blocks = (points + kGridBlock - 1) / kGridBlock;
  parallel_for(ctx.pool, x[0] * blocks, [&](int64_t task, int worker) {
    auto* taps = static_cast<GridTaps*>(ctx.scratch) + worker;
    const int64_t image = task / blocks, first = task % blocks * kGridBlock;
    const int64_t n = points - first < kGridBlock ? points - first : kGridBlock;
    int64_t step = 1;
    for (int d = dims - 1; d >= 0; step *= x[2 + d], --d) {
      find_taps(sampler, in[1].as<float>() + (image * points + first) * dims, n, dims, x[2 + d],
                step, d, taps);
    }
    Poll poll;
    for (int64_t c = 0; c < channels && !poll(8 * n); ++c) {
      const int64_t which = image * channels + c;
      body(*taps, in[0].as<float>() + which * plane, n,
           out[0].as<float>() + which * points + first);
    }
  });
  return {};
}

}  // namespace

WICK_CPU_ROWS(GridSample, {"grid_sample.f32.simd", kContiguous, match, plan, nullptr, run});

}  // namespace wick
#endif
