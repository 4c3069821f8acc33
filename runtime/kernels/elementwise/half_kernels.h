// Rows of 16-bit floats and of bytes for ops that are mostly used with float32, in a set of their
// own: a program of selected ops, which names its rows one by one, links them only where a model
// needs them.
#pragma once

#include "runtime/kernels/kernel.h"

namespace wick {

// Searched after kCpuKernels, before kReferenceKernels. The ops are ordered by id.
extern const KernelSet kHalfKernels;

#define WICK_HALF_OPS(X) \
  X(Relu)                \
  X(LeakyRelu)           \
  X(Elu)                 \
  X(Sigmoid)             \
  X(Tanh)                \
  X(Gelu)                \
  X(Silu)                \
  X(HardSwish)           \
  X(HardSigmoid)         \
  X(Softplus)            \
  X(Exp)                 \
  X(Log)                 \
  X(Sqrt)                \
  X(Reciprocal)          \
  X(Erf)                 \
  X(Sin)                 \
  X(Cos)                 \
  X(Tan)                 \
  X(Asin)                \
  X(Acos)                \
  X(Atan)                \
  X(Sinh)                \
  X(Cosh)                \
  X(Asinh)               \
  X(Acosh)               \
  X(Atanh)               \
  X(Neg)                 \
  X(Abs)                 \
  X(Floor)               \
  X(Ceil)                \
  X(Round)               \
  X(Sign)                \
  X(Clip)                \
  X(Cast)                \
  X(Add)                 \
  X(Sub)                 \
  X(Mul)                 \
  X(Div)                 \
  X(Pow)                 \
  X(Max)                 \
  X(Min)                 \
  X(Where)               \
  X(PRelu)               \
  X(MatMul)              \
  X(Linear)              \
  X(FusedLinear)         \
  X(Conv)                \
  X(MaxPool)             \
  X(AveragePool)         \
  X(BatchNorm)           \
  X(Softmax)             \
  X(LogSoftmax)          \
  X(ReduceSum)           \
  X(ReduceMean)          \
  X(ReduceMax)           \
  X(ReduceMin)           \
  X(Log1p)               \
  X(Expm1)               \
  X(Log2)                \
  X(Log10)               \
  X(Erfc)                \
  X(ConvTranspose)       \
  X(FusedElementwise)    \
  X(FusedMatMul)
#define WICK_HALF_DECLARE(Name) extern const Span<const KernelRow> kHalfRows_##Name;
WICK_HALF_OPS(WICK_HALF_DECLARE)
#undef WICK_HALF_DECLARE

// Used in a family file for an op of the list: WICK_HALF_ROWS(MatMul, {...}, {...});
#define WICK_HALF_ROWS(Name, ...)                                 \
  static constexpr KernelRow kHalfArray_##Name[] = {__VA_ARGS__}; \
  constinit const Span<const KernelRow> kHalfRows_##Name = kHalfArray_##Name

}  // namespace wick
