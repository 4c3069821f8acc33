#pragma once

#include "runtime/kernels/kernel.h"

namespace wick {

// Runs a row, unless there is nothing to make: empty outputs cost nothing, however large the dims
// beside the 0 are.
Status run_row(const KernelRow& row, OpId op, const KernelCtx& ctx, Span<const TensorView> in,
               Span<TensorView> out, const void* attrs);

}  // namespace wick
