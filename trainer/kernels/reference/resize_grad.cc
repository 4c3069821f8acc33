// ResizeGrad by plain loops. An element's gradient is that of interpolate() as one op after
// another, the last dim first: for each tap, from the last one, the outputs that read the element
// by it add their gradient times their weight, in order and from +0; the sums of the taps are
// added. Every step is rounded.
#include <cstring>

#include "runtime/core/byte_count.h"
#include "runtime/kernels/elementwise/elementwise.h"
#include "runtime/kernels/reference/rows.h"
#include "trainer/kernels/kernel_set.h"
#include "trainer/kernels/resize_grad.h"

namespace wick {
namespace {

using namespace reference;  // NOLINT: what the references share

constexpr int64_t kMostTaps = 4;

template <class T>
T tap_back(const ResizeGradJob& job, int level, int64_t t, const int64_t* i, const T* g,
           const Strides& steps);
template <class T>
T read_back(const ResizeGradJob& job, int level, const int64_t* i, const T* g,
            const Strides& steps) {
  if (level == job.resize.count) return *g;
  const int64_t taps = job.resize.axes[level].taps;
  T total = tap_back(job, level, taps - 1, i, g, steps);
  for (int64_t t = taps - 2; t >= 0; --t) total = total + tap_back(job, level, t, i, g, steps);
  return total;
}
template <class T>
T tap_back(const ResizeGradJob& job, int level, int64_t t, const int64_t* i, const T* g,
           const Strides& steps) {
  const ResizeAxis& s = job.resize.axes[level];
  const int64_t* begin = job.readers[level].begin(t) + i[s.dim];
  T sum = 0;
  for (int64_t o = begin[0]; o < begin[1]; ++o) {
    const T weight = static_cast<T>(s.table[o * s.taps + t].weight);
    sum = sum + read_back(job, level + 1, i, g + o * steps[s.dim], steps) * weight;
  }
  return sum;
}

struct Tables {
  ResizeScales scales;
};

Status plan(const KernelQuery& q, KernelPlan* p) {
  WICK_ASSIGN(p->scratch_bytes, resize_grad_bytes(q));
  p->keep(Tables{q.args->resize});
  return {};
}

template <class T>
Status run(const KernelCtx& ctx, Span<const TensorView> in, Span<TensorView> out,
           const void* attrs) {
  if (zero_where_unread(in, out)) return {};
  ResizeGradJob job;
  if (!resize_grad_job(in, *static_cast<const ResizeAttrs*>(attrs), ctx.plan->kept<Tables>().scales,
                       ctx.scratch, &job))
    return {};
  const Shape& x = in[0].shape;
  const Strides& steps = in[1].strides;
  const int64_t cost = in[1].numel() / in[0].numel() + 1;
  parallel_items(ctx.pool, in[0].numel(), cost, [&](int64_t begin, int64_t end) {
    Poll poll;
    for (int64_t at = begin; at < end && !poll(4 * cost); ++at) {
      int64_t i[kMaxRank], rest = at, from = 0;
      for (int d = x.rank() - 1; d >= 0; --d) {
        i[d] = rest % x[d], rest /= x[d];
        if (!job.resize.changes[d]) from += i[d] * steps[d];
      }
      const T* g = in[1].as<T>() + from;
      if (out.size() == 1) out[0].as<T>()[at] = read_back(job, 0, i, g, steps);
      for (size_t k = 0; k < out.size() && out.size() > 1; ++k)
        out[k].as<T>()[at] =
            tap_back(job, 0, static_cast<int64_t>(out.size() - 1 - k), i, g, steps);
    }
  });
  return {};
}

}  // namespace

Result<size_t> resize_grad_bytes(const KernelQuery& q) {
  const Shape &x = q.in[0].shape, &g = q.in[1].shape;
  if (numel(x) == 0 || numel(g) == 0) return size_t{0};
  WICK_ASSIGN(const size_t tables, resize_table_bytes(x, g, q.as<ResizeAttrs>()));
  uint64_t bytes = tables;
  for (int d = 2; d < x.rank(); ++d)
    bytes += static_cast<uint64_t>(kMostTaps * (x[d] + 1)) * sizeof(int64_t);
  return byte_count(bytes);
}

bool resize_grad_job(Span<const TensorView> in, const ResizeAttrs& a, const ResizeScales& scales,
                     void* scratch, ResizeGradJob* job) {
  resize_tables(in, in[1], a, scales, scratch, &job->resize);
  if (stopped()) return false;
  Poll poll;
  int64_t* to = nullptr;
  for (int k = 0; k < job->resize.count; ++k) {  // the tables end where the last one does
    const ResizeAxis& s = job->resize.axes[k];
    to = reinterpret_cast<int64_t*>(s.table + s.out * s.taps);
  }
  for (int k = 0; k < job->resize.count; ++k) {
    const ResizeAxis& s = job->resize.axes[k];
    job->readers[k] = {to, s.in};
    for (int64_t t = 0; t < s.taps; ++t, to += s.in + 1) {
      int64_t o = 0;
      for (int64_t i = 0; i <= s.in && !poll(); ++i) {
        while (o < s.out && s.table[o * s.taps + t].at < i && !poll()) ++o;
        to[i] = o;
      }
    }
  }
  return !stopped();
}

bool zero_where_unread(Span<const TensorView> in, Span<TensorView> out) {
  if (in[0].numel() != 0 && in[1].numel() != 0) return false;
  for (const TensorView& v : out) {
    if (v.numel() != 0) std::memset(v.data, 0, v.nbytes());
  }
  return true;
}

WICK_REF_ROWS(ResizeGrad,
              {"resize_grad.f32.ref", kStridedInputs, match<float>, plan, nullptr, run<float>},
              {"resize_grad.f64.ref", kStridedInputs, match<double>, plan, nullptr, run<double>});

}  // namespace wick
