// Resize by plain loops: every output is the nested sum over the neighbours along each axis.
#include "runtime/kernels/elementwise/elementwise.h"
#include "runtime/kernels/reference/blend.h"
#include "runtime/kernels/window/resize_table.h"

namespace wick {
namespace {

using namespace reference;  // NOLINT: shared by this folder

// Calls f(output index, position, element of x at the unchanged axes) for every output.
template <class F>
void for_each_output(ThreadPool* pool, const ResizeJob& job, const Shape& y, int64_t cost, F&& f) {
  const int last = y.rank() - 1;
  const int64_t row = y.rank() == 0 ? 1 : y[last];
  parallel_items(pool, row == 0 ? 0 : numel(y) / row, row * cost, [&](int64_t from, int64_t to) {
    int64_t o[kMaxRank] = {};
    Poll poll;
    for (int64_t r = from; r < to; ++r) {
      int64_t rest = r, fixed = 0;
      for (int d = last - 1; d >= 0; --d) {
        o[d] = rest % y[d];
        rest /= y[d];
        if (!job.changes[d]) fixed += o[d] * job.steps[d];
      }
      for (int64_t i = 0; i < row; ++i) {
        if (poll(4 * cost)) return;
        if (last >= 0) o[last] = i;
        f(r * row + i, o, fixed + (last >= 0 && !job.changes[last] ? i : 0));
      }
    }
  });
}

void spread_nearest(const ResizeJob& job, Span<const TensorView> in, Span<TensorView> out,
                    const ResizeAttrs& a, ThreadPool* pool) {
  const size_t size = dtype_size(in[0].dtype);
  char value[8] = {};  // the extrapolation value
  switch (in[0].dtype) {
#define WICK_EXTRAPOLATE(Type, name)                                                  \
  case dtype_of<Type>: {                                                              \
    const Type v = from_blend<Type>(static_cast<Blend<Type>>(a.extrapolation_value)); \
    __builtin_memcpy(value, &v, sizeof(v));                                           \
    break;                                                                            \
  }
    WICK_NUMBER_TYPES(WICK_EXTRAPOLATE)
#undef WICK_EXTRAPOLATE
    default: value[0] = a.extrapolation_value != 0;
  }
  const char* x = in[0].as<char>();
  char* y = out[0].as<char>();
  for_each_output(pool, job, out[0].shape, 1, [&](int64_t to, const int64_t* o, int64_t at) {
    const char* from = nullptr;
    for (int i = 0; i < job.count; ++i) {
      const ResizeAxis& s = job.axes[i];
      const int64_t p = s.table[o[s.dim]].at;
      if (p == kOutside) from = value;
      at += p * job.steps[s.dim];
    }
    if (from == nullptr) from = x + static_cast<size_t>(at) * size;
    __builtin_memcpy(y + static_cast<size_t>(to) * size, from, size);
  });
}

template <class T>
Blend<T> blend(const ResizeJob& job, int level, const int64_t* o, const T* x) {
  if (level == job.count) return blend_of(*x);
  const ResizeAxis& s = job.axes[level];
  const Neighbour* row = s.table + o[s.dim] * s.taps;
  Blend<T> sum = 0;
  for (int64_t i = 0; i < s.taps; ++i) {
    const auto weight = static_cast<Blend<T>>(row[i].weight);
    if (weight == 0) continue;  // an infinity there must not affect the sum
    sum = std::fma(weight, blend(job, level + 1, o, x + row[i].at * job.steps[s.dim]), sum);
  }
  return sum;
}

// Sums from the last axis outward, which equals resizing one dim after another; every step is
// rounded.
template <class T>
T interpolated(const ResizeJob& job, int left, const int64_t* o, const T* x) {
  if (left == 0) return *x;
  const ResizeAxis& s = job.axes[left - 1];
  const Neighbour* row = s.table + o[s.dim] * s.taps;
  T sum = 0;
  for (int64_t i = 0; i < s.taps; ++i) {
    const T part = interpolated(job, left - 1, o, x + row[i].at * job.steps[s.dim]) *
                   static_cast<T>(row[i].weight);
    sum = i == 0 ? part : sum + part;
  }
  return sum;
}

template <class T>
void blend_all(const ResizeJob& job, Span<const TensorView> in, Span<TensorView> out,
               const ResizeAttrs& a, ThreadPool* pool) {
  int64_t cost = 1;
  for (int i = 0; i < job.count; ++i) {
    if (__builtin_mul_overflow(cost, job.axes[i].taps, &cost)) cost = kElementGrain;
  }
  const T* x = in[0].as<T>();
  T* y = out[0].as<T>();
  if constexpr (std::is_same_v<T, float> || std::is_same_v<T, double>) {
    if (a.interpolate != 0) {
      return for_each_output(pool, job, out[0].shape, cost,
                             [&](int64_t to, const int64_t* o, int64_t at) {
                               y[to] = interpolated(job, job.count, o, x + at);
                             });
    }
  }
  const T outside = from_blend<T>(static_cast<Blend<T>>(a.extrapolation_value));
  for_each_output(pool, job, out[0].shape, cost, [&](int64_t to, const int64_t* o, int64_t at) {
    bool inside = true;
    for (int i = 0; i < job.count; ++i)
      inside = inside && job.axes[i].table[o[job.axes[i].dim] * job.axes[i].taps].at != kOutside;
    // nothing changes: the element is not converted to the wider type
    y[to] = !inside ? outside : job.count == 0 ? x[at] : from_blend<T>(blend(job, 0, o, x + at));
  });
}

using Spread = void (*)(const ResizeJob& job, Span<const TensorView> in, Span<TensorView> out,
                        const ResizeAttrs& a, ThreadPool* pool);
template <Spread spread>
Status run(const KernelCtx& ctx, Span<const TensorView> in, Span<TensorView> out,
           const void* attrs) {
  const auto& a = *static_cast<const ResizeAttrs*>(attrs);
  ResizeJob job;
  resize_tables(in, out[0], a, ctx.plan->kept<ResizeScales>(), ctx.scratch, &job);
  if (stopped()) return {};  // the tables are incomplete
  spread(job, in, out, a, ctx.pool);
  return {};
}

bool is_nearest(const KernelQuery& q) {
  const size_t size = dtype_size(q.in[0].dtype);
  return q.as<ResizeAttrs>().mode == static_cast<int64_t>(ResizeMode::kNearest) &&
         (size == 1 || size == 2 || size == 4 || size == 8);
}

}  // namespace

void resize_f32_ref(const ResizeJob& job, Span<const TensorView> in, Span<TensorView> out,
                    const ResizeAttrs& a, ThreadPool* pool) {
  blend_all<float>(job, in, out, a, pool);
}

void resize_nearest_ref(const ResizeJob& job, Span<const TensorView> in, Span<TensorView> out,
                        const ResizeAttrs& a, ThreadPool* pool) {
  spread_nearest(job, in, out, a, pool);
}

#define WICK_RESIZE_ROW(Type, dtype)                                                             \
  , KernelRow {                                                                                  \
    "resize." dtype ".ref", kContiguous, match<Type>, plan_resize, nullptr, run<blend_all<Type>> \
  }

WICK_REF_ROWS(Resize, KernelRow{"resize.any", kContiguous, is_nearest, plan_resize, nullptr,
                                run<spread_nearest>} WICK_NUMBER_TYPES(WICK_RESIZE_ROW));

}  // namespace wick
