// The float64 rows on top of product.h, for the trainer: programs that ship have the plain loops,
// which give the same bits.
#pragma once

#include "runtime/kernels/kernel.h"

namespace wick {

// MatMul, Linear, Conv, ConvInputGrad, ConvWeightGrad and ConvTranspose. It is searched after the
// SIMD sets and before the reference.
extern const KernelSet kWideKernels;

// NOLINTNEXTLINE(readability-identifier-naming): as in kernel_set.h, where macros make the names
extern const Span<const KernelRow> kWideRows_Conv, kWideRows_ConvWeightGrad;
// NOLINTNEXTLINE(readability-identifier-naming)
extern const Span<const KernelRow> kWideRows_ConvInputGrad, kWideRows_ConvTranspose;

}  // namespace wick
