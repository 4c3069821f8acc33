#include "runtime/kernels/gemm/pair_rows.h"

#include <algorithm>
#include <cstring>

#include "runtime/core/byte_count.h"
#include "runtime/core/int_math.h"
#include "runtime/kernels/epilogue.h"
#include "runtime/kernels/gemm/pairs.h"
#include "runtime/kernels/scratch.h"
#include "runtime/ops/products.h"

namespace wick {
namespace {

constexpr int64_t kRows = 64;  // of a task: a panel of weights is read once for them

// The division of the work: tasks are blocks of rows times shares of the panels.
struct Cut {
  PairWeights w;
  int64_t m = 1, rows = 1, row_blocks = 1;
  int64_t share = 1, shares = 1;  // of the outputs, whole panels

  int64_t k() const { return w.ins; }
  int64_t row_floats(const PairKernels& t) const { return w.pairs() * t.step(); }
  int64_t sums_step(const PairKernels& t) const {
    return round_up(std::min(share, w.outs), t.lanes);
  }
};

// The weight's rows are the outputs (FusedLinear), or its columns.
Cut cut_of(const PairKernels& t, bool linear, const TensorView& x, const TensorView& w,
           int threads) {
  Cut c;
  c.w.w = w.as<float>();
  c.w.outs = w.dim(linear ? 0 : 1);
  c.w.ins = w.dim(linear ? 1 : 0);
  c.w.out_step = linear ? c.w.ins : 1;
  c.w.in_step = linear ? 1 : c.w.outs;
  for (int i = 0; i + 1 < x.rank(); ++i) c.m *= x.dim(i);
  c.rows = std::clamp<int64_t>(ceil_div(c.m, int64_t{threads}), 1, kRows);
  c.row_blocks = ceil_div(c.m, c.rows);
  const int64_t panels = std::max<int64_t>(1, ceil_div(c.w.outs, int64_t{t.nr}));
  const int64_t wanted =
      threads == 1 ? 1 : ceil_div(2 * threads, std::max<int64_t>(c.row_blocks, 1));
  c.share = ceil_div(panels, std::min(panels, wanted)) * t.nr;
  c.shares = ceil_div(panels * t.nr, c.share);
  return c;
}

uint64_t bytes(int64_t floats) { return rounded(sizeof(float) * static_cast<uint64_t>(floats)); }
size_t task_bytes(const PairKernels& t, const Cut& c) {
  return byte_count(bytes(c.rows * c.row_floats(t)) + bytes(c.rows * c.sums_step(t)) +
                    bytes(c.k() + 1));
}

struct Kept {
  PairKernels t;
  int threads;
};

// Rounds rows of x, with a zero beyond an odd end.
uint32_t round_rows(const PairKernels& t, const Cut& c, const float* x, int64_t rows, float* line,
                    float* to) {
  const int64_t k = c.k();
  if (k % 2 == 0) return pair_round(t, x, rows * k, to);
  uint32_t least = ~uint32_t{0};
  for (int64_t r = 0; r < rows; ++r, x += k, to += c.row_floats(t)) {
    memcpy(line, x, sizeof(float) * static_cast<size_t>(k));
    line[k] = 0;
    least = std::min(least, pair_round(t, line, k + 1, to));
  }
  return least;
}

Status run(const KernelCtx& ctx, Span<const TensorView> in, Span<TensorView> out, bool linear,
           const EpilogueAttrs& attrs) {
  const auto& [t, threads] = ctx.plan->kept<Kept>();
  const Cut c = cut_of(t, linear, in[0], in[1], threads);
  ScratchPieces pieces(ctx.scratch);
  auto* fresh = pieces.take<float>(rounded(pair_packed_bytes(t, c.w)));
  auto* offset = pieces.take<int32_t>(bytes(c.row_floats(t)));
  auto* work = pieces.take<char>(0);
  const auto* packed = static_cast<const float*>(ctx.packed[0]);
  if (packed == nullptr) {
    pair_pack(t, c.w, fresh, ctx.pool);
    packed = fresh;
  }
  for (int64_t i = 0; i < c.row_floats(t); ++i) offset[i] = static_cast<int32_t>(i);
  const Epilogue e = make_epilogue(ctx, in, &attrs);
  const size_t step = task_bytes(t, c);
  const int64_t n = c.w.outs;
  parallel_for(ctx.pool, c.row_blocks * c.shares, [&, &t = t](int64_t task, int worker) {
    const int64_t first = task / c.shares * c.rows, rows = std::min(c.rows, c.m - first);
    ScratchPieces own(work + static_cast<size_t>(worker) * step);
    auto* operand = own.take<float>(bytes(c.rows * c.row_floats(t)));
    auto* sums = own.take<float>(bytes(c.rows * c.sums_step(t)));
    auto* line = own.take<float>(bytes(c.k() + 1));
    PairProduct p;
    p.least = round_rows(t, c, in[0].as<float>() + first * c.k(), rows, line, operand);
    p.operand = operand;
    p.count = rows, p.row_step = c.row_floats(t);
    p.offset = offset, p.packed = packed;
    p.all_outs = n, p.pairs = c.w.pairs();
    p.first = task % c.shares * c.share;
    p.outs = std::min(c.share, n - p.first);
    p.sums = sums, p.sums_step = c.sums_step(t);
    pair_multiply(t, p);
    Epilogue part = e;
    const int64_t at = first * n + p.first;
    part.residual_step = n;
    if (part.residual != nullptr) part.residual += at;
    t.tiles->finish(part, p.first, sums, p.sums_step, out[0].as<float>() + at, n, rows, p.outs);
  });
  return {};
}

}  // namespace

bool pairs_fit(const KernelQuery& q) {
  return takes_pairs(q.in[0].dtype, q.as<EpilogueAttrs>()) && q.in[1].numel() < INT32_MAX / 4;
}

Status plan_pairs(const KernelQuery& q, KernelPlan* p) {
  const Kept kept = {pair_kernels(), q.threads};
  const bool linear = q.op == OpId::kFusedLinear;
  const Cut c = cut_of(kept.t, linear, q.in[0], q.in[1], q.threads);
  const size_t weights = pair_packed_bytes(kept.t, c.w);
  p->packs[0] = {1,
                 packed_layout(linear ? PackedKind::kPairRows : PackedKind::kPairColumns,
                               kept.t.nr | (kept.t.words ? 0x8000 : 0)),
                 weights};
  p->scratch_bytes = byte_count(rounded(weights) + bytes(c.row_floats(kept.t)) +
                                static_cast<uint64_t>(q.threads) * task_bytes(kept.t, c));
  p->keep(kept);
  return {};
}

Status pack_pairs(const KernelQuery& q, const KernelPlan& p, int, void* dst) {
  const auto& [t, threads] = p.kept<Kept>();
  const Cut c = cut_of(t, q.op == OpId::kFusedLinear, q.in[0], q.in[1], threads);
  pair_pack(t, c.w, static_cast<float*>(dst), nullptr);
  return {};
}

Status run_pairs_linear(const KernelCtx& ctx, Span<const TensorView> in, Span<TensorView> out,
                        const void* attrs) {
  return run(ctx, in, out, true, *static_cast<const EpilogueAttrs*>(attrs));
}
Status run_pairs_matmul(const KernelCtx& ctx, Span<const TensorView> in, Span<TensorView> out,
                        const void* attrs) {
  return run(ctx, in, out, false, *static_cast<const EpilogueAttrs*>(attrs));
}

}  // namespace wick
