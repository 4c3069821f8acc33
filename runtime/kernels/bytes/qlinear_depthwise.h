// QLinearConv over two spatial dims where each channel is its own group.
#pragma once

#include "runtime/kernels/kernel.h"

namespace wick {

bool match_qlinear_depthwise(const KernelQuery& q);
Status plan_qlinear_depthwise(const KernelQuery& q, KernelPlan* p);
Status pack_qlinear_depthwise(const KernelQuery& q, const KernelPlan& p, int slot, void* dst);
Status run_qlinear_depthwise(const KernelCtx& ctx, Span<const TensorView> in, Span<TensorView> out,
                             const void* attrs);

// The same with x read in place, where the target supports it.
bool match_qlinear_windows(const KernelQuery& q);
Status plan_qlinear_windows(const KernelQuery& q, KernelPlan* p);
Status pack_qlinear_windows(const KernelQuery& q, const KernelPlan& p, int slot, void* dst);
Status run_qlinear_windows(const KernelCtx& ctx, Span<const TensorView> in, Span<TensorView> out,
                           const void* attrs);

}  // namespace wick
