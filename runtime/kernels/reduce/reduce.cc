#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "runtime/kernels/reduce/reduce.cc"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "runtime/core/byte_count.h"
#include "runtime/kernels/blocked/blocked_rows.h"
#include "runtime/kernels/copy.h"
#include "runtime/kernels/elementwise/elementwise.h"
#include "runtime/kernels/elementwise/half_kernels.h"
#include "runtime/kernels/elementwise/via_f32.h"
#include "runtime/kernels/kernel_set.h"
#include "runtime/kernels/reduce/reduce-inl.h"

#ifndef WICK_KERNELS_REDUCE_KIND_
#define WICK_KERNELS_REDUCE_KIND_
namespace wick {
enum class ReduceKind { kSum, kMean, kMax, kMin };
using ReduceBody = void (*)(const float* x, const ReduceShape& s, int64_t begin, int64_t end,
                            float* y);
}  // namespace wick
#endif

HWY_BEFORE_NAMESPACE();
namespace wick {
namespace HWY_NAMESPACE {

// Sums rows of N neighbours, at most one in each lane, where the lanes that have none change
// nothing: they are +0, and a lane that began at +0 is not -0.
template <int N>
static void sum_short_rows(const float* x, int64_t apart, int64_t rows, float* y) {
  for (int64_t r = 0; r < rows; ++r, x += apart) {
    float lanes[N];
    for (int i = 0; i < N; ++i) lanes[i] = 0.0f + x[i];
    for (int width = kSumLanes / 2; width > 0; width /= 2) {
      for (int i = 0; i < width && i + width < N; ++i) lanes[i] += lanes[i + width];
    }
    y[r] = lanes[0];
  }
}

// Computes outputs [begin, end). Either the reduced dims or the kept dims must end in contiguous
// runs.
template <ReduceKind kind>
void reduce_body(const float* x, const ReduceShape& s, int64_t begin, int64_t end, float* y) {
  constexpr bool kIsSum = kind == ReduceKind::kSum || kind == ReduceKind::kMean;
  constexpr bool kLargest = kind == ReduceKind::kMax;
  const bool columns =
      s.reduced == 1 && s.reduced_stride[0] != 1 && s.kept > 0 && s.kept_stride[s.kept - 1] == 1;
  Poll poll;
  int64_t o = begin;
  if (kIsSum && s.reduced == 1 && s.reduced_stride[0] == 1 && s.kept == 1 && s.count >= 2 &&
      s.count <= 8) {
    using Rows = void (*)(const float*, int64_t, int64_t, float*);
    static constexpr Rows kRows[] = {sum_short_rows<2>, sum_short_rows<3>, sum_short_rows<4>,
                                     sum_short_rows<5>, sum_short_rows<6>, sum_short_rows<7>,
                                     sum_short_rows<8>};
    for (int64_t n; o < end; o += n) {
      n = poll.piece(end - o);
      if (poll(n)) return;
      kRows[s.count - 2](x + o * s.kept_stride[0], s.kept_stride[0], n, y + o);
    }
  }
  while (o < end) {
    const float* p = x + s.offset(o);
    if (columns) {
      int64_t width = s.kept_dim[s.kept - 1];
      int64_t n = width - o % width < end - o ? width - o % width : end - o;
      if constexpr (kIsSum) {
        reduce::sum_columns(p, s.count, s.reduced_stride[0], n, y + o);
      } else {
        reduce::extreme_columns<kLargest>(p, s.count, s.reduced_stride[0], n, y + o);
      }
      o += n;
      continue;
    }
    if constexpr (kIsSum) {
      reduce::VectorSum sum;
      s.runs([&](int64_t offset, int64_t n, int64_t) HWY_ATTR {
        for (int64_t at = 0, piece; at < n && !poll(piece = poll.piece(n - at)); at += piece)
          sum.add(p + offset + at, piece);
      });
      y[o] = sum.finish();
    } else {
      float best = kLargest ? -__builtin_huge_valf() : __builtin_huge_valf();
      s.runs([&](int64_t offset, int64_t n, int64_t) HWY_ATTR {
        for (int64_t at = 0, piece; at < n && !poll(piece = poll.piece(n - at)); at += piece)
          best = reduce::extreme_of<kLargest>(best, p + offset + at, piece);
      });
      y[o] = best;
    }
    ++o;
  }
  if constexpr (kind == ReduceKind::kMean) {
    for (int64_t o = begin; o < end; ++o) y[o] /= static_cast<float>(s.count);
  }
}

static ReduceBody find_reduce(ReduceKind kind) {
  switch (kind) {
    case ReduceKind::kSum: return reduce_body<ReduceKind::kSum>;
    case ReduceKind::kMean: return reduce_body<ReduceKind::kMean>;
    case ReduceKind::kMax: return reduce_body<ReduceKind::kMax>;
    case ReduceKind::kMin: return reduce_body<ReduceKind::kMin>;
  }
  return nullptr;
}

}  // namespace HWY_NAMESPACE
}  // namespace wick
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace wick {
namespace {

HWY_EXPORT(find_reduce);

// Returns whether reduce_body supports the layout; the reference rows serve the rest.
bool simple(const ReduceShape& s) {
  if (s.reduced == 0) return true;
  if (s.reduced_stride[s.reduced - 1] == 1) return true;
  return s.reduced == 1 && s.kept > 0 && s.kept_stride[s.kept - 1] == 1;
}

bool match(const KernelQuery& q) {
  if (q.in[0].dtype != DType::kF32 || q.args == nullptr) return false;
  return simple(reduce_shape(q.in[0], q.args->reduce.set));
}

// Returns the part of x from which all outputs follow: along a kept dim that repeats one element,
// as in the gradient of a sum, they are equal.
TensorView without_repeats(const TensorView& x, const bool* reduce) {
  TensorView part = x;
  for (int d = 0; d < x.rank(); ++d) {
    if (!reduce[d] && x.strides[d] == 0 && x.shape[d] > 1) part.shape[d] = 1;
  }
  return part;
}
// Other layouts are copied first.
bool match_copied(const KernelQuery& q) {
  if (q.in[0].dtype != DType::kF32 || q.args == nullptr || q.in[0].contiguous()) return false;
  const bool* set = q.args->reduce.set;
  const Shape part = without_repeats(q.in[0], set).shape;
  return numel(part) != 0 && simple(reduce_shape(TensorView(nullptr, DType::kF32, part), set));
}

struct ReducePlan {
  ReduceBody body;
  ReducedAxes axes;
};

template <ReduceKind kind>
Status plan(const KernelQuery& q, KernelPlan* p) {
  p->keep(ReducePlan{HWY_DYNAMIC_DISPATCH(find_reduce)(kind), q.args->reduce});
  return {};
}

void reduce(const KernelCtx& ctx, const ReducePlan& plan, const TensorView& in, float* y) {
  const ReduceBody body = plan.body;
  const ReduceShape s = reduce_shape(in, plan.axes.set);
  const float* x = in.as<float>();
  parallel_items(ctx.pool, s.outputs, s.count,
                 [&](int64_t begin, int64_t end) { body(x, s, begin, end, y); });
}
Status run(const KernelCtx& ctx, Span<const TensorView> in, Span<TensorView> out, const void*) {
  reduce(ctx, ctx.plan->kept<ReducePlan>(), in[0], out[0].as<float>());
  return {};
}

template <ReduceKind kind>
Status plan_copied(const KernelQuery& q, KernelPlan* p) {
  const auto floats =
      static_cast<uint64_t>(numel(without_repeats(q.in[0], q.args->reduce.set).shape));
  p->scratch_bytes = byte_count(2 * floats * sizeof(float));  // and of the outputs, at most as many
  return plan<kind>(q, p);
}
Status run_copied(const KernelCtx& ctx, Span<const TensorView> in, Span<TensorView> out,
                  const void*) {
  const auto& plan = ctx.plan->kept<ReducePlan>();
  const TensorView part = without_repeats(in[0], plan.axes.set);
  const TensorView dense(ctx.scratch, DType::kF32, part.shape);
  copy_strided(part, dense);
  // The outputs in x's dims, with 1 in those that are reduced, and the equal ones among them once.
  TensorView some(dense.as<float>() + dense.numel(), DType::kF32, part.shape), all = out[0];
  all.shape = in[0].shape;
  for (int d = 0; d < part.rank(); ++d) {
    if (plan.axes.set[d]) some.shape[d] = all.shape[d] = 1;
  }
  some.strides = contiguous_strides(some.shape), all.strides = contiguous_strides(all.shape);
  reduce(ctx, plan, dense, some.as<float>());
  for (int d = 0; d < part.rank(); ++d) {
    if (some.shape[d] != all.shape[d]) some.strides[d] = 0;
  }
  some.shape = all.shape;
  copy_strided(some, all);
  return {};
}

// Reduces the pixels of a blocked value, whose blocks and lanes together are the channels; or the
// channels, where they fill all blocks.
bool blocked_fits(const KernelQuery& q) {
  if (q.args == nullptr || !is_blocked(blocked_kernels(), q.in[0]) || q.out[0].block != 0)
    return false;
  const bool* set = q.args->reduce.set;
  if (set[0] || set[2] != set[3] || set[1] == set[2]) return false;
  return set[2] || q.in[0].shape[1] % q.in[0].block == 0;
}

void reduce_channels(const KernelCtx& ctx, ReduceBody body, const TensorView& x, float* y) {
  ReduceShape s;
  s.kept = 1, s.reduced = 2;
  const int64_t pixels = s.outputs = s.kept_dim[0] = x.shape[2] * x.shape[3];
  s.kept_stride[0] = x.block;
  s.count = x.shape[1];
  s.reduced_dim[0] = blocks_of(x), s.reduced_stride[0] = block_floats(x);
  s.reduced_dim[1] = x.block, s.reduced_stride[1] = 1;
  const int64_t image = blocks_of(x) * block_floats(x);
  parallel_items(ctx.pool, x.shape[0] * pixels, s.count, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin, next; i < end; i = next) {
      const int64_t n = i / pixels, from = n * pixels;
      next = end < from + pixels ? end : from + pixels;
      body(x.as<float>() + n * image, s, i - from, next - from, y + from);
    }
  });
}

Status run_blocked(const KernelCtx& ctx, Span<const TensorView> in, Span<TensorView> out,
                   const void*) {
  const auto& plan = ctx.plan->kept<ReducePlan>();
  const ReduceBody body = plan.body;
  const TensorView& x = in[0];
  if (plan.axes.set[1]) {
    reduce_channels(ctx, body, x, out[0].as<float>());
    return {};
  }
  ReduceShape s;
  s.kept = 2, s.reduced = 1;
  s.kept_dim[0] = blocks_of(x), s.kept_stride[0] = block_floats(x);
  s.kept_dim[1] = x.block, s.kept_stride[1] = 1;
  s.count = s.reduced_dim[0] = x.shape[2] * x.shape[3];
  s.reduced_stride[0] = x.block;
  const int64_t channels = x.shape[1], image = blocks_of(x) * block_floats(x);
  s.outputs = channels;
  const int64_t blocks = blocks_of(x);
  parallel_items(ctx.pool, x.shape[0] * blocks, s.count * x.block, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t n = i / blocks, first = i % blocks * x.block;
      const int64_t last = first + x.block < channels ? first + x.block : channels;
      body(x.as<float>() + n * image, s, first, last, out[0].as<float>() + n * channels);
    }
  });
  return {};
}

#define WICK_REDUCE_CONSTANT(kind, text)                                                        \
  constexpr KernelRow kind = {text ".f32.simd",       kStridedInputs, match,                    \
                              plan<ReduceKind::kind>, nullptr,        run};                     \
  constexpr KernelRow kind##Copied = {                                                          \
      text ".f32.copied", kStridedInputs, match_copied, plan_copied<ReduceKind::kind>, nullptr, \
      run_copied};                                                                              \
  constexpr KernelRow kind##Blocked = {text ".f32.blocked",    kBlocked, blocked_fits,          \
                                       plan<ReduceKind::kind>, nullptr,  run_blocked};
WICK_REDUCE_CONSTANT(kSum, "reduce_sum")
WICK_REDUCE_CONSTANT(kMean, "reduce_mean")
WICK_REDUCE_CONSTANT(kMax, "reduce_max")
WICK_REDUCE_CONSTANT(kMin, "reduce_min")
#undef WICK_REDUCE_CONSTANT

}  // namespace

#define WICK_REDUCE_ROW(Name, text, row) \
  WICK_CPU_ROWS(Name, row, row##Copied); \
  WICK_BLOCKED_ROWS(Name, row##Blocked); \
  WICK_HALF_ROWS(Name, WICK_VIA_F32(text ".16.simd", row))
WICK_REDUCE_ROW(ReduceSum, "reduce_sum", kSum);
WICK_REDUCE_ROW(ReduceMean, "reduce_mean", kMean);
WICK_REDUCE_ROW(ReduceMax, "reduce_max", kMax);
WICK_REDUCE_ROW(ReduceMin, "reduce_min", kMin);

}  // namespace wick
#endif
