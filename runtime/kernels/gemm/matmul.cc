// Kernel rows of MatMul, Linear and their fused forms on top of gemm.h.
#include <algorithm>

#include "runtime/core/byte_count.h"
#include "runtime/kernels/elementwise/half_kernels.h"
#include "runtime/kernels/elementwise/half_loops.h"
#include "runtime/kernels/elementwise/via_f32.h"
#include "runtime/kernels/epilogue.h"
#include "runtime/kernels/gemm/batched.h"
#include "runtime/kernels/gemm/bf16_gemm.h"
#include "runtime/kernels/gemm/gemm.h"
#include "runtime/kernels/gemm/pair_rows.h"
#include "runtime/kernels/kernel_set.h"
#include "runtime/kernels/product_rows.h"
#include "runtime/kernels/reference/real.h"
#include "runtime/ops/products.h"

namespace wick {
namespace {

// Lanes are columns: a single column is computed as a single row of the transposed product.
Gemm product(const Batched& r, const float* a, const float* b, float* c) {
  Gemm g;
  g.m = r.m, g.n = r.n, g.k = r.k;
  g.a = a, g.a_row = r.a_row, g.a_col = r.a_col;
  g.b = b, g.b_row = r.b_row, g.b_col = r.b_col;
  g.c = c, g.c_row = r.n;
  if (r.n == 1 && r.m > 1) {
    std::swap(g.m, g.n);
    std::swap(g.a, g.b);
    g.a_row = 0, g.a_col = r.b_row;
    g.b_row = r.a_col, g.b_col = r.a_row;
    g.c_row = g.n;
  }
  return g;
}

bool matmul_match(const KernelQuery& q) { return q.in[0].dtype == DType::kF32; }

Status matmul_plan(const KernelQuery& q, KernelPlan* p) {
  const TileKernels& t = tile_kernels();
  const Batched r = batched(q.in[0], q.in[1]);
  const Gemm g = product(r, nullptr, nullptr, nullptr);
  p->keep(TilePlan{&t, q.threads});
  const int inner = by_batch(r, q.threads) ? 1 : q.threads;
  const size_t one = (gemm_scratch_bytes(t, g.m, g.n, g.k, false, inner) + 63) / 64 * 64;
  p->scratch_bytes = byte_count(uint64_t{one} * static_cast<uint64_t>(inner == 1 ? q.threads : 1));
  if (q.in[1].rank() == 2 && g.n == r.n && r.batches == 1) {
    p->packs[0] = {1, packed_layout(PackedKind::kMatMulPanels, t.nr),
                   gemm_packed_b_bytes(t, g.k, g.n)};
  }
  return {};
}

Status matmul_pack(const KernelQuery& q, const KernelPlan& p, int, void* dst) {
  const TileKernels& t = *p.kept<TilePlan>().kernels;
  const TensorView& b = q.in[1];
  gemm_pack_b(t, b.as<float>(), b.strides[0], b.strides[1], b.dim(0), b.dim(1),
              static_cast<float*>(dst));
  return {};
}

Status matmul_run(const KernelCtx& ctx, Span<const TensorView> in, Span<TensorView> out,
                  const void*) {
  const auto& [kernels, threads] = ctx.plan->kept<TilePlan>();
  const TileKernels& t = *kernels;
  const Batched r = batched(in[0], in[1]);
  auto* scratch = static_cast<float*>(ctx.scratch);
  const auto one = [&](int64_t batch, float* own, ThreadPool* pool) {
    const float* a = in[0].as<float>();
    const float* b = in[1].as<float>();
    int64_t rest = batch;
    for (int i = r.batch_rank - 1; i >= 0; --i) {
      a += rest % r.dims[i] * r.a_step[i];
      b += rest % r.dims[i] * r.b_step[i];
      rest /= r.dims[i];
    }
    Gemm g = product(r, a, b, out[0].as<float>() + batch * r.m * r.n);
    if (r.batches == 1) g.packed_b = static_cast<const float*>(ctx.packed[0]);
    gemm(t, g, own, pool);
  };
  Poll poll;
  if (by_batch(r, threads)) {
    const Gemm g = product(r, nullptr, nullptr, nullptr);
    const size_t step = (gemm_scratch_bytes(t, g.m, g.n, g.k, false, 1) + 63) / 64 * 16;
    parallel_for(ctx.pool, r.batches, [&](int64_t batch, int worker) {
      one(batch, scratch + static_cast<size_t>(worker) * step, nullptr);
    });
  } else {
    for (int64_t batch = 0; batch < r.batches && !poll(r.m * r.n); ++batch)
      one(batch, scratch, ctx.pool);
  }
  return {};
}

bool linear_match(const KernelQuery& q) { return q.in[0].dtype == DType::kF32; }
bool fused_match(const KernelQuery& q) {
  return linear_match(q) && !takes_pairs(DType::kF32, q.as<EpilogueAttrs>());
}

// The weight's rows are the outputs, or (kColumns) its columns, as in MatMul.
enum class Outputs { kRows, kColumns };

template <Outputs outputs>
Gemm linear_product(const TensorView& x, const TensorView& w) {
  constexpr bool rows = outputs == Outputs::kRows;
  Gemm g;
  g.n = w.dim(rows ? 0 : 1);
  g.k = w.dim(rows ? 1 : 0);
  g.m = 1;
  for (int i = 0; i + 1 < x.rank(); ++i) g.m *= x.dim(i);
  g.a = x.as<float>(), g.a_row = g.k, g.a_col = 1;
  g.b = w.as<float>();
  g.b_row = rows ? 1 : g.n, g.b_col = rows ? g.k : 1;
  g.c_row = g.n;
  return g;
}

template <Outputs outputs>
Status linear_plan(const KernelQuery& q, KernelPlan* p) {
  const TileKernels& t = tile_kernels();
  const Gemm g = linear_product<outputs>(q.in[0], q.in[1]);
  constexpr PackedKind kind =
      outputs == Outputs::kRows ? PackedKind::kGemmPanels : PackedKind::kMatMulPanels;
  p->keep(&t);
  p->scratch_bytes = gemm_scratch_bytes(t, g.m, g.n, g.k, false, q.threads);
  p->packs[0] = {1, packed_layout(kind, t.nr), gemm_packed_b_bytes(t, g.k, g.n)};
  return {};
}

Status linear_pack(const KernelQuery& q, const KernelPlan& p, int, void* dst) {
  const auto& t = *p.kept<const TileKernels*>();
  const TensorView& w = q.in[1];
  gemm_pack_b(t, w.as<float>(), 1, w.dim(1), w.dim(1), w.dim(0), static_cast<float*>(dst));
  return {};
}

template <Outputs outputs>
Status run_linear(const KernelCtx& ctx, Span<const TensorView> in, Span<TensorView> out,
                  const EpilogueAttrs* attrs) {
  Gemm g = linear_product<outputs>(in[0], in[1]);
  g.packed_b = static_cast<const float*>(ctx.packed[0]);
  g.c = out[0].as<float>();
  g.epilogue = make_epilogue(ctx, in, attrs);
  g.epilogue.residual_step = g.n;
  gemm(*ctx.plan->kept<const TileKernels*>(), g, static_cast<float*>(ctx.scratch), ctx.pool);
  return {};
}

Status linear_run(const KernelCtx& ctx, Span<const TensorView> in, Span<TensorView> out,
                  const void*) {
  return run_linear<Outputs::kRows>(ctx, in, out, nullptr);
}
template <Outputs outputs>
Status fused_run(const KernelCtx& ctx, Span<const TensorView> in, Span<TensorView> out,
                 const void* attrs) {
  return run_linear<outputs>(ctx, in, out, static_cast<const EpilogueAttrs*>(attrs));
}

// -- bf16 on AMX tiles

bool all_bf16(const KernelQuery& q) {
  for (const TensorView& v : q.in) {
    if (v.present() && v.dtype != DType::kBF16) return false;
  }
  return bf16_tiles();
}

// Finishes the output of one product with the reference's arithmetic after the sum.
struct TilesOut {
  reference::Tail<BFloat16> tail;
  BFloat16* y;
  int64_t n;
};
void tiles_finish(const void* context, const float* sums, int64_t i, int64_t j, int64_t rows,
                  int64_t cols) {
  const auto& o = *static_cast<const TilesOut*>(context);
  constexpr int64_t kLine = 32;
  if (o.tail.attrs != nullptr) {
    for (int64_t r = 0; r < rows; ++r, sums += kLine) {
      const int64_t at = (i + r) * o.n + j;
      for (int64_t c = 0; c < cols; ++c) o.y[at + c] = o.tail(sums[c], j + c, at + c);
    }
    return;
  }
  float bias[kLine], line[kLine];
  if (o.tail.bias != nullptr) widen(o.tail.bias + j, bias, cols);
  for (int64_t r = 0; r < rows; ++r, sums += kLine) {
    const float* from = sums;
    if (o.tail.bias != nullptr) {
      for (int64_t c = 0; c < cols; ++c) line[c] = sums[c] + bias[c];
      from = line;
    }
    narrow(from, o.y + (i + r) * o.n + j, cols);
  }
}

Status tiles_matmul_plan(const KernelQuery& q, KernelPlan* p) {
  const Batched r = batched(q.in[0], q.in[1]);
  const size_t one = (bf16_gemm_scratch_bytes(r.m, r.n, r.k) + 63) / 64 * 64;
  p->keep(q.threads);
  p->scratch_bytes =
      byte_count(uint64_t{one} * static_cast<uint64_t>(by_batch(r, q.threads) ? q.threads : 1));
  return {};
}
Status tiles_matmul_run(const KernelCtx& ctx, Span<const TensorView> in, Span<TensorView> out,
                        const void*) {
  const Batched r = batched(in[0], in[1]);
  const size_t step = (bf16_gemm_scratch_bytes(r.m, r.n, r.k) + 63) / 64 * 64;
  const auto one = [&](int64_t batch, int worker, ThreadPool* pool) {
    Bf16Gemm g;
    g.m = r.m, g.n = r.n, g.k = r.k;
    g.a = in[0].as<BFloat16>(), g.a_row = r.a_row, g.a_col = r.a_col;
    g.b = in[1].as<BFloat16>(), g.b_row = r.b_row, g.b_col = r.b_col;
    int64_t rest = batch;
    for (int i = r.batch_rank - 1; i >= 0; --i) {
      g.a += rest % r.dims[i] * r.a_step[i];
      g.b += rest % r.dims[i] * r.b_step[i];
      rest /= r.dims[i];
    }
    const TilesOut o{{ctx, {}, nullptr}, out[0].as<BFloat16>() + batch * r.m * r.n, r.n};
    g.finish = tiles_finish;
    g.context = &o;
    bf16_gemm(g, static_cast<char*>(ctx.scratch) + static_cast<size_t>(worker) * step, pool);
  };
  Poll poll;
  if (by_batch(r, ctx.plan->kept<int>())) {
    parallel_for(ctx.pool, r.batches,
                 [&](int64_t batch, int worker) { one(batch, worker, nullptr); });
  } else {
    for (int64_t batch = 0; batch < r.batches && !poll(r.m * r.n); ++batch) one(batch, 0, ctx.pool);
  }
  return {};
}

template <Outputs outputs>
Status tiles_linear_plan(const KernelQuery& q, KernelPlan* p) {
  const Gemm g = linear_product<outputs>(q.in[0], q.in[1]);
  p->scratch_bytes = bf16_gemm_scratch_bytes(g.m, g.n, g.k);
  return {};
}
template <Outputs outputs>
Status tiles_linear_run(const KernelCtx& ctx, Span<const TensorView> in, Span<TensorView> out,
                        const EpilogueAttrs* attrs) {
  const Gemm shape = linear_product<outputs>(in[0], in[1]);
  Bf16Gemm g;
  g.m = shape.m, g.n = shape.n, g.k = shape.k;
  g.a = in[0].as<BFloat16>(), g.a_row = shape.a_row, g.a_col = shape.a_col;
  g.b = in[1].as<BFloat16>(), g.b_row = shape.b_row, g.b_col = shape.b_col;
  const TilesOut o{{ctx, in, attrs}, out[0].as<BFloat16>(), g.n};
  g.finish = tiles_finish;
  g.context = &o;
  bf16_gemm(g, ctx.scratch, ctx.pool);
  return {};
}
Status tiles_plain_run(const KernelCtx& ctx, Span<const TensorView> in, Span<TensorView> out,
                       const void*) {
  return tiles_linear_run<Outputs::kRows>(ctx, in, out, nullptr);
}
template <Outputs outputs>
Status tiles_fused_run(const KernelCtx& ctx, Span<const TensorView> in, Span<TensorView> out,
                       const void* attrs) {
  return tiles_linear_run<outputs>(ctx, in, out, static_cast<const EpilogueAttrs*>(attrs));
}

constexpr KernelRow kMatMul = {"matmul.f32.simd", kStridedInputs, matmul_match,
                               matmul_plan,       matmul_pack,    matmul_run};
constexpr KernelRow kLinear = {"linear.f32.simd",           kContiguous, linear_match,
                               linear_plan<Outputs::kRows>, linear_pack, linear_run};

}  // namespace

WICK_CPU_ROWS(MatMul, kMatMul);
WICK_CPU_ROWS(Linear, kLinear);
constexpr KernelRow kFusedLinear = {
    "fused_linear.f32.simd",     kContiguous, fused_match,
    linear_plan<Outputs::kRows>, linear_pack, fused_run<Outputs::kRows>};
constexpr KernelRow kFusedMatMul = {
    "fused_matmul.f32.simd",        kContiguous, fused_match,
    linear_plan<Outputs::kColumns>, matmul_pack, fused_run<Outputs::kColumns>};
WICK_CPU_ROWS(FusedLinear, kFusedLinear);
WICK_CPU_ROWS(FusedMatMul, kFusedMatMul);
WICK_PRODUCT_ROWS(FusedLinear, kPairsLinear);
WICK_PRODUCT_ROWS(FusedMatMul, kPairsMatMul);

WICK_HALF_ROWS(MatMul,
               {"matmul.bf16.tiles", kStridedInputs, all_bf16, tiles_matmul_plan, nullptr,
                tiles_matmul_run},
               WICK_VIA_F32("matmul.16.simd", kMatMul));
WICK_HALF_ROWS(Linear,
               {"linear.bf16.tiles", kContiguous, all_bf16, tiles_linear_plan<Outputs::kRows>,
                nullptr, tiles_plain_run},
               WICK_VIA_F32("linear.16.simd", kLinear));
WICK_HALF_ROWS(FusedLinear,
               {"fused_linear.bf16.tiles", kContiguous, all_bf16, tiles_linear_plan<Outputs::kRows>,
                nullptr, tiles_fused_run<Outputs::kRows>});
WICK_HALF_ROWS(FusedMatMul,
               {"fused_matmul.bf16.tiles", kContiguous, all_bf16,
                tiles_linear_plan<Outputs::kColumns>, nullptr, tiles_fused_run<Outputs::kColumns>});

}  // namespace wick
