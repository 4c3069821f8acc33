// The kernel rows of Conv and FusedConv for values in blocked layout.
#pragma once

#include "runtime/kernels/blocked/blocked.h"
#include "runtime/kernels/kernel.h"

namespace wick {

// Returns whether a convolution's values may be blocked as the query has them.
bool fits_in_blocks(const KernelQuery& q);
bool blocked_conv_fits(const KernelQuery& q);
Status plan_blocked_conv(const KernelQuery& q, KernelPlan* p);
Status pack_blocked_conv(const KernelQuery& q, const KernelPlan& p, int slot, void* dst);
Status run_blocked_conv(const KernelCtx& ctx, Span<const TensorView> in, Span<TensorView> out,
                        const void* attrs);
Status run_blocked_fused_conv(const KernelCtx& ctx, Span<const TensorView> in, Span<TensorView> out,
                              const void* attrs);

constexpr KernelRow kBlockedConv = {"conv.f32.blocked", kBlocked,          blocked_conv_fits,
                                    plan_blocked_conv,  pack_blocked_conv, run_blocked_conv};
constexpr KernelRow kBlockedFusedConv = {"fused_conv.f32.blocked", kBlocked,
                                         blocked_conv_fits,        plan_blocked_conv,
                                         pack_blocked_conv,        run_blocked_fused_conv};

}  // namespace wick
