// The byte row of MaxPool, which is listed with the 16-bit float rows.
#pragma once

#include "runtime/kernels/kernel.h"

namespace wick {

bool byte_max_fits(const KernelQuery& q);
Status plan_byte_max(const KernelQuery& q, KernelPlan* p);
Status run_byte_max(const KernelCtx& ctx, Span<const TensorView> in, Span<TensorView> out,
                    const void* attrs);

constexpr KernelRow kByteMaxPool = {"max_pool.bytes.simd", kContiguous, byte_max_fits,
                                    plan_byte_max,         nullptr,     run_byte_max};

}  // namespace wick
