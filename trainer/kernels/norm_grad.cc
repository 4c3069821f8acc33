// LayerNormGrad and GroupNormGrad of float32 with SIMD.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "trainer/kernels/norm_grad.cc"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "runtime/core/byte_count.h"
#include "runtime/core/int_math.h"
#include "runtime/kernels/elementwise/elementwise.h"
#include "trainer/kernels/kernel_set.h"
#include "trainer/kernels/norm_grad-inl.h"

#if HWY_ONCE
namespace wick {
namespace {

HWY_EXPORT(find_norm_grad);

// Rows longer than this have their passes one after the other, so that a pass is short enough.
bool match_rows(const KernelQuery& q, int64_t n) {
  return q.in[0].dtype == DType::kF32 && q.in[0].numel() != 0 && n <= kPollWork;
}

// Returns whether the gradient is one number for all elements, as that of a sum is, and the other
// inputs are contiguous: a row of it serves all rows.
bool is_constant(const KernelQuery& q) {
  bool same = q.in[0].numel() > 1 && q.in[1].contiguous() && q.in[2].contiguous();
  for (int d = 0; d < q.in[0].rank(); ++d)
    same = same && (q.in[0].strides[d] == 0 || q.in[0].shape[d] == 1);
  return same;
}
const float* row_of(const TensorView& g, int64_t n, float* line) {
  for (int64_t i = 0; i < n; ++i) line[i] = g.as<float>()[0];
  return line;
}

// -- layer norm

struct LayerPlan {
  const NormGradBodies* bodies;
  int64_t n, rows;
  int lanes;  // of a task
  bool constant;
};

int64_t up16(int64_t n) { return (n + kSumLanes - 1) / kSumLanes * kSumLanes; }

bool match_layer(const KernelQuery& q) { return match_rows(q, q.in[2].numel()); }
bool match_layer_constant(const KernelQuery& q) { return match_layer(q) && is_constant(q); }

Status plan_layer(const KernelQuery& q, KernelPlan* p) {
  const int64_t n = q.in[2].numel();
  const int lanes = q.threads <= 4 && n <= kSumBlock ? 4 : 1;
  p->keep(LayerPlan{HWY_DYNAMIC_DISPATCH(find_norm_grad)(), n, q.in[0].numel() / n, lanes,
                    is_constant(q)});
  const int64_t lines = 2 * kSumLanes + int64_t{lanes} * q.threads + 1;
  p->scratch_bytes = byte_count(static_cast<uint64_t>(lines * up16(n)) * sizeof(float));
  return {};
}

Status run_layer(const KernelCtx& ctx, Span<const TensorView> in, Span<TensorView> out,
                 const void* attrs) {
  const auto& plan = ctx.plan->kept<LayerPlan>();
  const auto& a = *static_cast<const LayerNormGradAttrs*>(attrs);
  LayerNormGradRows s{in[0].as<float>(),
                      in[1].as<float>(),
                      in[2].as<float>(),
                      plan.n,
                      out[0].as<float>(),
                      plan.n,
                      static_cast<float>(a.epsilon),
                      static_cast<float*>(ctx.scratch),
                      nullptr,
                      up16(plan.n)};
  s.bias = s.weight + kSumLanes * s.step;
  float *line = s.bias + kSumLanes * s.step, *lines = line + s.step;
  float *dw = out[1].as<float>(), *db = out[2].as<float>();
  if (plan.constant) s.g = row_of(in[0], plan.n, line), s.g_step = 0;
  for (int64_t i = 0; i < plan.n; ++i) dw[i] = db[i] = 0;
  for (int64_t begin = 0; begin < plan.rows && !stopped(); begin += kSumBlock) {
    const int64_t end = begin + kSumBlock < plan.rows ? begin + kSumBlock : plan.rows;
    parallel_for(ctx.pool, kSumLanes / plan.lanes, [&](int64_t task, int worker) {
      plan.bodies->layer(s, begin, end, static_cast<int>(task) * plan.lanes, plan.lanes,
                         lines + worker * plan.lanes * s.step);
    });
    parallel_items(ctx.pool, s.step / kSumLanes, 4 * kSumLanes * kSumLanes,
                   [&](int64_t from, int64_t to) {
                     const int64_t last = to * kSumLanes < plan.n ? to * kSumLanes : plan.n;
                     plan.bodies->layer_sums(s, from * kSumLanes, last, dw, db);
                   });
  }
  return {};
}

// -- group norm

struct GroupPlan {
  const NormGradBodies* bodies;
  int64_t images, channels, n, runs, groups;
  bool constant;
};

GroupPlan group_plan(const KernelQuery& q) {
  const Shape& x = q.in[1].shape;
  const int64_t groups = q.as<GroupNormGradAttrs>().groups, rows = x[0] * groups;
  return {nullptr,       x[0],   x[1],          rows == 0 ? 0 : numel(x) / rows,
          x[1] / groups, groups, is_constant(q)};
}

bool match_group(const KernelQuery& q) { return match_rows(q, group_plan(q).n); }
bool match_group_constant(const KernelQuery& q) { return match_group(q) && is_constant(q); }

Status plan_group(const KernelQuery& q, KernelPlan* p) {
  GroupPlan plan = group_plan(q);
  plan.bodies = HWY_DYNAMIC_DISPATCH(find_norm_grad)();
  p->keep(plan);
  const int64_t line = plan.constant ? plan.n : 0;
  p->scratch_bytes =
      byte_count(static_cast<uint64_t>(plan.images * plan.groups * 2 + line) * sizeof(float));
  return {};
}

Status run_group(const KernelCtx& ctx, Span<const TensorView> in, Span<TensorView> out,
                 const void* attrs) {
  const auto& plan = ctx.plan->kept<GroupPlan>();
  const auto& a = *static_cast<const GroupNormGradAttrs*>(attrs);
  const int64_t rows = plan.images * plan.groups;
  auto* mean = static_cast<float*>(ctx.scratch);
  const float* g = plan.constant ? row_of(in[0], plan.n, mean + 2 * rows) : in[0].as<float>();
  const GroupNormGradRows s{g,
                            in[1].as<float>(),
                            in[2].as<float>(),
                            plan.constant ? 0 : plan.n,
                            out[0].as<float>(),
                            plan.n,
                            plan.runs,
                            plan.groups,
                            static_cast<float>(a.epsilon),
                            mean,
                            mean + rows};
  parallel_items(ctx.pool, rows, 8 * plan.n,
                 [&](int64_t begin, int64_t end) { plan.bodies->group(s, begin, end); });
  if (stopped()) return {};
  parallel_items(ctx.pool, plan.channels, 2 * plan.images * (plan.n / plan.runs),
                 [&](int64_t begin, int64_t end) {
                   plan.bodies->group_sums(s, plan.images, begin, end, out[1].as<float>(),
                                           out[2].as<float>());
                 });
  return {};
}

}  // namespace

WICK_CPU_ROWS(LayerNormGrad,
              {"layer_norm_grad.f32.constant", kStridedInputs, match_layer_constant, plan_layer,
               nullptr, run_layer},
              {"layer_norm_grad.f32.simd", kContiguous, match_layer, plan_layer, nullptr,
               run_layer});
WICK_CPU_ROWS(GroupNormGrad,
              {"group_norm_grad.f32.constant", kStridedInputs, match_group_constant, plan_group,
               nullptr, run_group},
              {"group_norm_grad.f32.simd", kContiguous, match_group, plan_group, nullptr,
               run_group});

}  // namespace wick
#endif
