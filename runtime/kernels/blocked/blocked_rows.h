// The kernel rows for values in blocked layout. They are a set of their own, so that a program of
// selected ops, which names its sets, does not link them.
#pragma once

#include "runtime/kernels/blocked/blocked.h"
#include "runtime/kernels/kernel.h"

namespace wick {

extern const KernelSet kBlockedSet;  // empty where none of this is built

#define WICK_BLOCKED_OPS(X) \
  X(Conv)                   \
  X(FusedConv)              \
  X(MaxPool)                \
  X(AveragePool)            \
  X(BatchNorm)              \
  X(Softmax)                \
  X(LogSoftmax)             \
  X(ReduceSum)              \
  X(ReduceMean)             \
  X(ReduceMax)              \
  X(ReduceMin)              \
  X(Transpose)              \
  X(Concat)                 \
  X(Split)                  \
  X(Slice)                  \
  X(Gather)                 \
  X(Resize)                 \
  X(ConvTranspose)
#define WICK_BLOCKED_OP(Name) extern const Span<const KernelRow> kBlockedRows_##Name;
WICK_BLOCKED_OPS(WICK_BLOCKED_OP)
#undef WICK_BLOCKED_OP

#if WICK_BLOCKS
#define WICK_BLOCKED_ROWS(Name, ...)                                 \
  static constexpr KernelRow kBlockedArray_##Name[] = {__VA_ARGS__}; \
  constinit const Span<const KernelRow> kBlockedRows_##Name = kBlockedArray_##Name
#else
// The rows are named, so that no body counts as unused, and lead nowhere.
#define WICK_BLOCKED_ROWS(Name, ...) \
  [[maybe_unused]] static constexpr KernelRow kBlockedArray_##Name[] = {__VA_ARGS__}
#endif

}  // namespace wick
