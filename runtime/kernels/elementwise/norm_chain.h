// A FusedElementwise row for the chain of a layer norm or a group norm. The general row would make
// a pass over each row of the tensor for each of its seven to nine steps.
#pragma once

#include "runtime/kernels/kernel.h"

namespace wick {

// Matches (x - mean(x)) / sqrt(mean((x - mean(x))^2) + eps), or times the reciprocal of the root,
// or both without the mean (RMS norm), perhaps times a weight, perhaps plus a bias, of float32,
// where both have the shape of the rows, or a number for each channel of groups: x[..., groups,
// channels, n] normalized over two dims, and [groups, channels, 1].
bool match_norm_chain(const KernelQuery& q);
Status plan_norm_chain(const KernelQuery& q, KernelPlan* plan);
Status run_norm_chain(const KernelCtx& ctx, Span<const TensorView> in, Span<TensorView> out,
                      const void* attrs);

}  // namespace wick
