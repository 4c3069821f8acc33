// ResizeGrad of float32 along one or two dims with SIMD: each row of the gradient is brought back
// to the input's width, then the rows of a plane to its height. Lanes are neighbouring elements of
// the input.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "trainer/kernels/resize_grad.cc"
#include "trainer/kernels/resize_grad.h"

#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "runtime/core/byte_count.h"
#include "runtime/core/int_math.h"
#include "runtime/kernels/elementwise/elementwise.h"
#include "trainer/kernels/kernel_set.h"

#ifndef WICK_TRAINER_RESIZE_GRAD_BODIES_
#define WICK_TRAINER_RESIZE_GRAD_BODIES_
namespace wick {
// One dim. For each tap t: the weights of the outputs, weight + t * out, and the first output that
// reads each element, begin + t * (in + 1).
struct ResizeBack {
  const float* weight;
  const int32_t* begin;
  int64_t taps, in, out;
};
struct ResizeBackKernels {
  // A row g[out] to x[0][in], or each tap's part to another of x, the last tap first. `products`
  // has kBackSlack more floats than the row.
  void (*across)(const float* g, const ResizeBack& r, float* products, float* const* x, bool parts);
  // Rows g[out][width] to row i, likewise.
  void (*down)(const float* g, const ResizeBack& r, int64_t i, int64_t width, float* const* x,
               bool parts);
};
// The vectors beyond a row's end are read, and what is in them is left out.
constexpr int64_t kBackSlack = 32;
}  // namespace wick
#endif

#include "trainer/kernels/resize_grad-inl.h"

#if HWY_ONCE
namespace wick {
namespace {

HWY_EXPORT(resize_back_set);

constexpr int64_t kTaps = 4;

struct Back {
  ResizeScales scales;
  const ResizeBackKernels* kernels;
  size_t lists, tables;  // bytes of the job's tables, and of all tables: then there are the rows
};

bool match(const KernelQuery& q) {
  const Shape &x = q.in[0].shape, &g = q.in[1].shape;
  const int last = x.rank() - 1;
  return q.in[0].dtype == DType::kF32 && x.rank() <= 4 && x[last] < INT32_MAX &&
         g[last] < INT32_MAX && x[last - 1] < INT32_MAX && g[last - 1] < INT32_MAX;
}

size_t weight_bytes(int64_t out) { return rounded(kTaps * out * 4); }
size_t begin_bytes(int64_t in) { return rounded(kTaps * (in + 1) * 4); }

// Bytes of a worker: the products of a row, a row whose elements are not neighbours, and the rows
// of a plane in the input's width.
size_t worker_bytes(const Shape& x, const Shape& g) {
  const int last = x.rank() - 1;
  const int64_t rows = x.rank() == 4 ? g[2] : 0;
  return rounded((2 * g[last] + kBackSlack + rows * x[last]) * int64_t{sizeof(float)});
}

Status plan(const KernelQuery& q, KernelPlan* p) {
  const Shape &x = q.in[0].shape, &g = q.in[1].shape;
  WICK_ASSIGN(size_t lists, resize_grad_bytes(q));
  lists = rounded(lists);
  uint64_t bytes = lists;
  for (int d = 2; d < x.rank(); ++d) bytes += uint64_t{weight_bytes(g[d])} + begin_bytes(x[d]);
  p->keep(Back{q.args->resize, HWY_DYNAMIC_DISPATCH(resize_back_set)(), lists, byte_count(bytes)});
  p->scratch_bytes =
      byte_count(bytes + uint64_t{worker_bytes(x, g)} * static_cast<uint64_t>(q.threads));
  return {};
}

// Copies a dim's tables into the form that the kernels read; `scratch` moves behind it.
ResizeBack back_of(const ResizeAxis& s, const ResizeReaders& readers, char** scratch) {
  auto* weight = reinterpret_cast<float*>(*scratch);
  auto* begin = reinterpret_cast<int32_t*>(*scratch + weight_bytes(s.out));
  *scratch += weight_bytes(s.out) + begin_bytes(s.in);
  Poll poll;
  for (int64_t t = 0; t < s.taps; ++t) {
    for (int64_t o = 0; o < s.out && !poll(); ++o)
      weight[t * s.out + o] = static_cast<float>(s.table[o * s.taps + t].weight);
    for (int64_t i = 0; i <= s.in && !poll(); ++i)
      begin[t * (s.in + 1) + i] = static_cast<int32_t>(readers.begin(t)[i]);
  }
  return {weight, begin, s.taps, s.in, s.out};
}

Status run(const KernelCtx& ctx, Span<const TensorView> in, Span<TensorView> out,
           const void* attrs) {
  if (zero_where_unread(in, out)) return {};
  const auto& plan = ctx.plan->kept<Back>();
  const ResizeBackKernels& t = *plan.kernels;
  auto* scratch = static_cast<char*>(ctx.scratch);
  ResizeGradJob job;
  if (!resize_grad_job(in, *static_cast<const ResizeAttrs*>(attrs), plan.scales, scratch, &job))
    return {};
  char* at = scratch + plan.lists;
  ResizeBack back[2] = {};
  for (int k = 0; k < job.resize.count; ++k)
    back[k] = back_of(job.resize.axes[k], job.readers[k], &at);
  if (stopped()) return {};
  const Shape& x = in[0].shape;
  const Strides& step = in[1].strides;
  const int64_t apart = step[x.rank() - 1];
  const bool planes = x.rank() == 4, parts = out.size() > 1;
  const ResizeBack &down = back[0], &across = back[planes ? 1 : 0];
  const int64_t w = across.in, ow = across.out, rows = planes ? down.out : 1;
  const size_t own = worker_bytes(x, in[1].shape);
  int64_t some = planes ? 1 : kElementGrain / (w + ow);  // single rows of a task, or one plane
  if (some < 1) some = 1;
  const int64_t items = x[0] * x[1];
  parallel_for(ctx.pool, (items + some - 1) / some, [&](int64_t task, int worker) {
    auto* products =
        reinterpret_cast<float*>(scratch + plan.tables + static_cast<size_t>(worker) * own);
    float *line = products + ow + kBackSlack, *narrow = line + ow;
    const int64_t end = (task + 1) * some < items ? (task + 1) * some : items;
    Poll poll;
    for (int64_t item = task * some; item < end; ++item) {
      const float* from = in[1].as<float>() + item / x[1] * step[0] + item % x[1] * step[1];
      for (int64_t row = 0; row < rows && !poll(4 * (w + ow)); ++row) {
        const float* g = planes ? from + row * step[2] : from;
        for (int64_t o = 0; apart != 1 && o < ow; ++o) line[o] = g[o * apart];
        float* to[kTaps] = {narrow + row * w};
        for (size_t k = 0; k < out.size() && !planes; ++k) to[k] = out[k].as<float>() + item * w;
        t.across(apart == 1 ? g : line, across, products, to, !planes && parts);
      }
      for (int64_t i = 0; planes && i < down.in && !poll(4 * w); ++i) {
        float* to[kTaps] = {};
        for (size_t k = 0; k < out.size(); ++k)
          to[k] = out[k].as<float>() + (item * down.in + i) * w;
        t.down(narrow, down, i, w, to, parts);
      }
    }
  });
  return {};
}

}  // namespace

WICK_CPU_ROWS(ResizeGrad, {"resize_grad.f32.simd", kStridedInputs, match, plan, nullptr, run});

}  // namespace wick
#endif
