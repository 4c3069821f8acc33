// The kernel rows of Conv and FusedConv whose products are pairs of bf16 (runtime/kernels/gemm/
// pairs.h): per output k runs over (kh, kw, pairs of channels), padding is zeros.
#pragma once

#include "runtime/kernels/kernel.h"

namespace wick {

bool conv_pairs_fit(const KernelQuery& q);
bool conv_pairs_fit_blocked(const KernelQuery& q);
Status plan_conv_pairs(const KernelQuery& q, KernelPlan* p);
Status pack_conv_pairs(const KernelQuery& q, const KernelPlan& p, int slot, void* dst);
Status run_conv_pairs(const KernelCtx& ctx, Span<const TensorView> in, Span<TensorView> out,
                      const void* attrs);
Status run_fused_conv_pairs(const KernelCtx& ctx, Span<const TensorView> in, Span<TensorView> out,
                            const void* attrs);

constexpr KernelRow kPairsConv = {"conv.f32.bf16", kContiguous,     conv_pairs_fit,
                                  plan_conv_pairs, pack_conv_pairs, run_conv_pairs};
constexpr KernelRow kPairsFusedConv = {"fused_conv.f32.bf16", kContiguous,
                                       conv_pairs_fit,        plan_conv_pairs,
                                       pack_conv_pairs,       run_fused_conv_pairs};
constexpr KernelRow kBlockedPairsConv = {"conv.f32.bf16.blocked", kBlocked,
                                         conv_pairs_fit_blocked,  plan_conv_pairs,
                                         pack_conv_pairs,         run_conv_pairs};
constexpr KernelRow kBlockedPairsFusedConv = {"fused_conv.f32.bf16.blocked",
                                              kBlocked,
                                              conv_pairs_fit_blocked,
                                              plan_conv_pairs,
                                              pack_conv_pairs,
                                              run_fused_conv_pairs};

}  // namespace wick
