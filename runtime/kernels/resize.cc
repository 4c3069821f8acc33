// The SIMD row of Resize: float32, linear or cubic, along the last two dims. Rows of the input are
// resized across once and kept for as long as output rows read them.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "runtime/kernels/resize.cc"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "runtime/kernels/elementwise.h"
#include "runtime/kernels/kernel_set.h"
#include "runtime/kernels/resize_table.h"

#ifndef WICK_KERNELS_RESIZE_CC_
#define WICK_KERNELS_RESIZE_CC_
namespace wick {
// A table with the taps of one number behind each other: [tap][step].
struct ResizeRow {
  const float* weight;
  const int32_t* at;
  int64_t taps, step;
};
struct ResizeKernels {
  void (*across)(const float* x, const ResizeRow& row, int64_t n, float* y);
  void (*down)(const float* const* lines, const float* weight, int count, int64_t n, float* y);
};
}  // namespace wick
#endif

#include "runtime/kernels/resize-inl.h"

#if HWY_ONCE
namespace wick {
namespace {

HWY_EXPORT(resize_set);

constexpr int kMaxTaps = 4;
constexpr int64_t kRows = 32;  // of a task, whose first ones may be another task's last

size_t rounded(int64_t bytes) { return static_cast<size_t>((bytes + 63) / 64 * 64); }
size_t row_bytes(int64_t w) { return rounded(kMaxTaps * w * 8); }
size_t line_bytes(int64_t w) { return rounded(kMaxTaps * w * 4); }

bool match(const KernelQuery& q) {
  const auto& a = q.as<ResizeAttrs>();
  const Shape &x = q.in[0].shape, &y = q.out[0].shape;
  if (q.in[0].dtype != DType::kF32 || x.rank() < 2 || a.antialias != 0 || numel(y) == 0 ||
      a.mode == static_cast<int64_t>(ResizeMode::kNearest) ||
      a.coordinates == static_cast<int64_t>(ResizeCoordinates::kCropAndResize))
    return false;
  for (int d = 0; d + 2 < x.rank(); ++d) {
    if (x[d] != y[d]) return false;
  }
  const int last = x.rank() - 1;
  return x[last] <= INT32_MAX && y[last] <= (int64_t{1} << 26);
}

Status plan(const KernelQuery& q, KernelPlan* p) {
  const Shape& y = q.out[0].shape;
  WICK_TRY(plan_resize(q, p));
  p->fn[0] = HWY_DYNAMIC_DISPATCH(resize_set)();
  const int64_t w = y[y.rank() - 1];
  p->ints[0] = static_cast<int64_t>(rounded(static_cast<int64_t>(p->scratch_bytes)));
  p->scratch_bytes = static_cast<size_t>(p->ints[0]) + row_bytes(w) +
                     line_bytes(w) * static_cast<size_t>(q.threads);
  return {};
}

ResizeRow across_row(const ResizeAxis& s, char* scratch) {
  auto* weight = reinterpret_cast<float*>(scratch);
  auto* at = reinterpret_cast<int32_t*>(weight + kMaxTaps * s.out);
  for (int64_t o = 0; o < s.out; ++o) {
    for (int64_t t = 0; t < s.taps; ++t) {
      weight[t * s.out + o] = static_cast<float>(s.table[o * s.taps + t].weight);
      at[t * s.out + o] = static_cast<int32_t>(s.table[o * s.taps + t].at);
    }
  }
  return {weight, at, s.taps, s.out};
}

Status run(const KernelCtx& ctx, Span<const TensorView> in, Span<TensorView> out,
           const void* attrs) {
  const auto& t = *static_cast<const ResizeKernels*>(ctx.plan->fn[0]);
  const auto& a = *static_cast<const ResizeAttrs*>(attrs);
  auto* scratch = static_cast<char*>(ctx.scratch);
  ResizeJob job;
  WICK_TRY(resize_tables(in, out[0], a, scratch, &job));
  const int last = in[0].rank() - 1;
  const ResizeAxis *down = nullptr, *across = nullptr;
  for (int i = 0; i < job.count; ++i) {
    // A scale that keeps the size may still move what lies along an axis before these two.
    if (job.axes[i].dim < last - 1) return resize_f32_ref(ctx, in, out, attrs);
    (job.axes[i].dim == last ? across : down) = &job.axes[i];
  }
  const int64_t h = in[0].dim(last - 1), w = in[0].dim(last);
  const int64_t oh = out[0].dim(last - 1), ow = out[0].dim(last);
  char* own = scratch + ctx.plan->ints[0] + row_bytes(ow);
  ResizeRow row{};
  if (across != nullptr) row = across_row(*across, scratch + ctx.plan->ints[0]);
  const int64_t planes = out[0].numel() / (oh * ow), tasks = (oh + kRows - 1) / kRows;
  parallel_for(ctx.pool, planes * tasks, [&](int64_t task, int worker) {
    auto* kept = reinterpret_cast<float*>(own + static_cast<size_t>(worker) * line_bytes(ow));
    int64_t which[kMaxTaps] = {-1, -1, -1, -1};  // row of the input that a line has
    const float* x = in[0].as<float>() + task / tasks * h * w;
    float* y = out[0].as<float>() + task / tasks * oh * ow;
    const int64_t from = task % tasks * kRows, to = from + kRows < oh ? from + kRows : oh;
    for (int64_t o = from; o < to; ++o) {
      if (down == nullptr) {
        if (across != nullptr) {
          t.across(x + o * w, row, ow, y + o * ow);
        } else {
          __builtin_memcpy(y + o * ow, x + o * w, static_cast<size_t>(ow) * sizeof(float));
        }
        continue;
      }
      const float* lines[kMaxTaps];
      float weight[kMaxTaps];
      int count = 0;
      for (int64_t i = 0; i < down->taps; ++i) {
        const Neighbour& n = down->table[o * down->taps + i];
        weight[count] = static_cast<float>(n.weight);
        if (weight[count] == 0) continue;
        lines[count] = x + n.at * w;
        if (across != nullptr) {
          const int64_t slot = n.at % kMaxTaps;  // neighbours follow one another
          if (which[slot] != n.at) t.across(x + n.at * w, row, ow, kept + slot * ow);
          which[slot] = n.at;
          lines[count] = kept + slot * ow;
        }
        ++count;
      }
      t.down(lines, weight, count, ow, y + o * ow);
    }
  });
  return {};
}

}  // namespace

WICK_CPU_ROWS(Resize, {"resize.f32.simd", kContiguous, match, plan, nullptr, run});

}  // namespace wick
#endif
