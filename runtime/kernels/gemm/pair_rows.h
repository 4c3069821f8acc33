// The kernel rows of FusedLinear and FusedMatMul whose products are pairs (pairs.h).
#pragma once

#include "runtime/kernels/kernel.h"

namespace wick {

bool pairs_fit(const KernelQuery& q);
Status plan_pairs(const KernelQuery& q, KernelPlan* p);
Status pack_pairs(const KernelQuery& q, const KernelPlan& p, int slot, void* dst);
Status run_pairs_linear(const KernelCtx& ctx, Span<const TensorView> in, Span<TensorView> out,
                        const void* attrs);
Status run_pairs_matmul(const KernelCtx& ctx, Span<const TensorView> in, Span<TensorView> out,
                        const void* attrs);

constexpr KernelRow kPairsLinear = {
    "fused_linear.f32.bf16", kContiguous, pairs_fit, plan_pairs, pack_pairs, run_pairs_linear};
constexpr KernelRow kPairsMatMul = {
    "fused_matmul.f32.bf16", kContiguous, pairs_fit, plan_pairs, pack_pairs, run_pairs_matmul};

}  // namespace wick
