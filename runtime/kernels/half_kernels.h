// Rows of 16-bit floats, in a set of their own: a program of selected ops, which names its rows one
// by one, does not link them.
#pragma once

#include "runtime/kernels/kernel.h"

namespace wick {

// Asked after kCpuKernels, before kReferenceKernels. The ops stand by their ids.
extern const KernelSet kHalfKernels;

#define WICK_HALF_OPS(X) X(Cast) X(MatMul) X(Linear) X(FusedLinear) X(Conv) X(FusedMatMul)
#define WICK_HALF_DECLARE(Name) extern const Span<const KernelRow> kHalfRows_##Name;
WICK_HALF_OPS(WICK_HALF_DECLARE)
#undef WICK_HALF_DECLARE

// In a family file, for an op of the list: WICK_HALF_ROWS(MatMul, {...}, {...});
#define WICK_HALF_ROWS(Name, ...)                                 \
  static constexpr KernelRow kHalfArray_##Name[] = {__VA_ARGS__}; \
  constinit const Span<const KernelRow> kHalfRows_##Name = kHalfArray_##Name

}  // namespace wick
