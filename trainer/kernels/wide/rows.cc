#include "trainer/kernels/wide/rows.h"

#include "runtime/core/byte_count.h"
#include "runtime/core/stop.h"
#include "runtime/kernels/gemm/batched.h"
#include "trainer/kernels/wide/product.h"

namespace wick {
namespace {

bool match(const KernelQuery& q) { return q.in[0].dtype == DType::kF64 && wide_products(); }

Status plan(const KernelQuery& q, KernelPlan* p) {
  p->keep(q.threads);
  p->scratch_bytes =
      byte_count(sizeof(double) * kWideScratch * static_cast<uint64_t>(std::max(q.threads, 1)));
  return {};
}

Status matmul(const KernelCtx& ctx, Span<const TensorView> in, Span<TensorView> out, const void*) {
  const Batched r = batched(in[0], in[1]);
  auto* scratch = static_cast<double*>(ctx.scratch);
  const auto one = [&](int64_t batch, double* own, ThreadPool* pool) {
    const double *a = in[0].as<double>(), *b = in[1].as<double>();
    int64_t rest = batch;
    for (int i = r.batch_rank - 1; i >= 0; --i) {
      a += rest % r.dims[i] * r.a_step[i];
      b += rest % r.dims[i] * r.b_step[i];
      rest /= r.dims[i];
    }
    // Lanes are columns: a single column is computed as a single row of the transposed product.
    const bool turned = r.n == 1 && r.m > 1;
    const WideMatrix vectors =
        turned ? WideMatrix(a, r.a_col, r.a_row) : WideMatrix(b, r.b_row, r.b_col);
    WideProduct p;
    p.m = turned ? 1 : r.m, p.n = turned ? r.m : r.n, p.k = r.k;
    p.a = turned ? b : a;
    p.a_row = turned ? 0 : r.a_row, p.a_col = turned ? r.b_row : r.a_col;
    p.b = &vectors;
    p.c = out[0].as<double>() + batch * r.m * r.n;
    p.c_row = p.n;
    wide_product(p, own, pool);
  };
  if (by_batch(r, ctx.plan->kept<int>())) {
    parallel_for(ctx.pool, r.batches, [&](int64_t batch, int worker) {
      one(batch, scratch + worker * kWideScratch, nullptr);
    });
    return {};
  }
  Poll poll;
  for (int64_t batch = 0; batch < r.batches && !poll(r.m * r.n); ++batch)
    one(batch, scratch, ctx.pool);
  return {};
}

Status linear(const KernelCtx& ctx, Span<const TensorView> in, Span<TensorView> out, const void*) {
  const TensorView &x = in[0], &w = in[1];
  const int64_t n = w.dim(0), k = w.dim(1);
  const WideMatrix vectors(w.as<double>(), 1, k);
  WideProduct p;
  p.m = 1, p.n = n, p.k = k;
  for (int i = 0; i + 1 < x.rank(); ++i) p.m *= x.dim(i);
  p.a = x.as<double>(), p.a_row = k, p.a_col = 1;
  p.b = &vectors;
  p.c = out[0].as<double>(), p.c_row = n;
  wide_product(p, static_cast<double*>(ctx.scratch), ctx.pool);
  if (in.size() < 3 || !in[2].present()) return {};
  const auto* bias = in[2].as<double>();
  Poll poll;
  for (int64_t i = 0; i < p.m && !poll(n); ++i) {
    for (int64_t j = 0; j < n; ++j) p.c[i * n + j] = p.c[i * n + j] + bias[j];
  }
  return {};
}

constexpr KernelRow kMatMul[] = {{"matmul.f64.simd", kStridedInputs, match, plan, nullptr, matmul}};
constexpr KernelRow kLinear[] = {{"linear.f64.simd", kContiguous, match, plan, nullptr, linear}};
constinit const Span<const KernelRow> kMatMulRows = kMatMul, kLinearRows = kLinear;

constexpr KernelEntry kEntries[] = {{OpId::kMatMul, &kMatMulRows},
                                    {OpId::kLinear, &kLinearRows},
                                    {OpId::kConv, &kWideRows_Conv},
                                    {OpId::kConvInputGrad, &kWideRows_ConvInputGrad},
                                    {OpId::kConvWeightGrad, &kWideRows_ConvWeightGrad},
                                    {OpId::kConvTranspose, &kWideRows_ConvTranspose}};

}  // namespace

constinit const KernelSet kWideKernels = {"wide", kEntries};

}  // namespace wick
