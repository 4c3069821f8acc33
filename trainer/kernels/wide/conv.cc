// Convolution of float64 and its gradient by the weights.
#include <algorithm>

#include "runtime/core/byte_count.h"
#include "runtime/core/stop.h"
#include "trainer/kernels/conv_grad.h"
#include "trainer/kernels/wide/rows.h"
#include "trainer/kernels/wide/window.h"

namespace wick {
namespace {

bool match(const KernelQuery& q) {
  return q.in[0].dtype == DType::kF64 && q.in[0].rank() <= 5 && q.in[0].numel() > 0 &&
         q.in[1].numel() > 0 && q.out[0].numel() > 0 && wide_products();
}

size_t doubles(uint64_t n) { return byte_count(sizeof(double) * n); }

Status conv_plan(const KernelQuery& q, KernelPlan* p) {
  p->scratch_bytes = doubles(uint64_t{kWideScratch} * static_cast<uint64_t>(q.threads));
  return {};
}

// Images and groups are products apart: threads take whole ones where there are enough.
Status conv(const KernelCtx& ctx, Span<const TensorView> in, Span<TensorView> out,
            const void* attrs) {
  const WideWindow w(in[0].shape, in[1].shape, out[0].shape, *static_cast<const ConvAttrs*>(attrs));
  const auto* bias = in.size() > 2 && in[2].present() ? in[2].as<double>() : nullptr;
  const int64_t groups = w.oc / w.group_out, k = w.group_in * w.taps();
  auto* scratch = static_cast<double*>(ctx.scratch);
  const auto one = [&](int64_t task, double* own, ThreadPool* pool) {
    const int64_t n = task / groups, g = task % groups;
    const WideInputs vectors(w, in[0].as<double>() + (n * w.ic + g * w.group_in) * w.pixels());
    WideProduct p;
    p.m = w.group_out, p.n = w.outputs(), p.k = k;
    p.a = in[1].as<double>() + g * w.group_out * k, p.a_row = k, p.a_col = 1;
    p.b = &vectors;
    p.c = out[0].as<double>() + (n * w.oc + g * w.group_out) * p.n, p.c_row = p.n;
    wide_product(p, own, pool);
    for (int64_t o = 0; bias != nullptr && o < p.m; ++o) {
      const double add = bias[g * w.group_out + o];
      for (int64_t i = 0; i < p.n; ++i) p.c[o * p.n + i] = p.c[o * p.n + i] + add;
    }
  };
  const int64_t tasks = w.n * groups;
  if (ctx.pool != nullptr && tasks >= ctx.pool->threads()) {
    parallel_for(ctx.pool, tasks, [&](int64_t task, int worker) {
      one(task, scratch + worker * kWideScratch, nullptr);
    });
    return {};
  }
  for (int64_t task = 0; task < tasks && !stopped(); ++task) one(task, scratch, ctx.pool);
  return {};
}

// x, dy -> dw
Status weight_plan(const KernelQuery& q, KernelPlan* p) {
  p->scratch_bytes = doubles(uint64_t{kWideScratch} * static_cast<uint64_t>(q.threads) +
                             static_cast<uint64_t>(q.out[0].numel()));
  return {};
}

// k runs over the outputs of the images of a slice: a later image resumes.
Status weight_grad(const KernelCtx& ctx, Span<const TensorView> in, Span<TensorView> out,
                   const void* attrs) {
  const WideWindow w(in[0].shape, out[0].shape, in[1].shape,
                     static_cast<const ConvGradAttrs*>(attrs)->conv);
  const int64_t groups = w.oc / w.group_out, columns = w.group_in * w.taps(), k = w.outputs();
  const int64_t weights = w.oc * columns, slices = conv_weight_grad_slices(w.n, k, weights);
  auto *dw = out[0].as<double>(), *later = static_cast<double*>(ctx.scratch),
       *scratch = later + weights;
  const auto group = [&](int64_t g, double* own, ThreadPool* pool) {
    for (int64_t slice = 0; slice < slices; ++slice) {
      const int64_t begin = slice_begin(slice, slices, w.n),
                    end = slice_begin(slice + 1, slices, w.n);
      const int64_t at = g * w.group_out * columns, size = w.group_out * columns;
      double* sums = (slice == 0 ? dw : later) + at;
      if (begin == end) std::fill_n(sums, size, 0.0);
      for (int64_t n = begin; n < end && !stopped(); ++n) {
        const WideInputsByOutput vectors(
            w, in[0].as<double>() + (n * w.ic + g * w.group_in) * w.pixels());
        WideProduct p;
        p.m = w.group_out, p.n = columns, p.k = k;
        p.a = in[1].as<double>() + (n * w.oc + g * w.group_out) * k, p.a_row = k, p.a_col = 1;
        p.b = &vectors;
        p.c = sums, p.c_row = columns;
        p.resume = n > begin;
        wide_product(p, own, pool);
      }
      for (int64_t i = 0; slice > 0 && i < size; ++i) dw[at + i] = dw[at + i] + sums[i];
    }
  };
  if (ctx.pool != nullptr && groups >= ctx.pool->threads()) {
    parallel_for(ctx.pool, groups, [&](int64_t g, int worker) {
      group(g, scratch + worker * kWideScratch, nullptr);
    });
    return {};
  }
  for (int64_t g = 0; g < groups && !stopped(); ++g) group(g, scratch, ctx.pool);
  return {};
}

constexpr KernelRow kConv[] = {{"conv.f64.simd", kContiguous, match, conv_plan, nullptr, conv}};
constexpr KernelRow kWeightGrad[] = {
    {"conv_weight_grad.f64.simd", kContiguous, match, weight_plan, nullptr, weight_grad}};

}  // namespace

constinit const Span<const KernelRow> kWideRows_Conv = kConv;
constinit const Span<const KernelRow> kWideRows_ConvWeightGrad = kWeightGrad;

}  // namespace wick
