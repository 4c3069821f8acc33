// The float64 rows on top of product.h, for the trainer: programs that ship have the plain loops,
// which give the same bits.
#pragma once

#include "runtime/kernels/kernel.h"

namespace wick {

// MatMul, Linear, Conv, ConvInputGrad, ConvWeightGrad and ConvTranspose. It is searched after the
// SIMD sets and before the reference.
extern const KernelSet kWideKernels;

extern const Span<const KernelRow> kWideRows_Conv, kWideRows_ConvWeightGrad,
    kWideRows_ConvInputGrad, kWideRows_ConvTranspose;

}  // namespace wick
