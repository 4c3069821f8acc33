// The kernel rows whose products have another order than the exact one (runtime/ops/products.h):
// Winograd's, and pairs of bf16. They are a set of their own, so that a program of selected ops
// whose models ask for none does not link them.
#pragma once

#include "runtime/kernels/kernel.h"

namespace wick {

extern const KernelSet kProductKernels;  // empty where WICK_SMALL is set: the plain loops serve

#define WICK_PRODUCT_OPS(X) \
  X(FusedLinear)            \
  X(Conv)                   \
  X(FusedConv)              \
  X(FusedMatMul)
#define WICK_PRODUCT_OP(Name) extern const Span<const KernelRow> kProductRows_##Name;
WICK_PRODUCT_OPS(WICK_PRODUCT_OP)
#undef WICK_PRODUCT_OP

// Used in a family's file: WICK_PRODUCT_ROWS(Conv, {...}, {...}); rows in order of preference.
#if WICK_SMALL
#define WICK_PRODUCT_ROWS(Name, ...) constinit const Span<const KernelRow> kProductRows_##Name = {}
#else
#define WICK_PRODUCT_ROWS(Name, ...)                                 \
  static constexpr KernelRow kProductArray_##Name[] = {__VA_ARGS__}; \
  constinit const Span<const KernelRow> kProductRows_##Name = kProductArray_##Name
#endif

}  // namespace wick
