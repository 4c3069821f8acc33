// Declares the rows that each family file defines, named as in ops.def: a missing one does not
// link.
//   kRefRows_Relu   reference/<family>.cc: plain loops, every dtype of the op
//   kCpuRows_Relu   <family>.cc: the SIMD rows; WICK_NO_CPU_ROWS(Relu): there are none
#pragma once

#include "runtime/kernels/kernel.h"

namespace wick {

#define WICK_ROWS_kInfer(Name)                        \
  extern const Span<const KernelRow> kRefRows_##Name; \
  extern const Span<const KernelRow> kCpuRows_##Name;
#define WICK_ROWS_kTrain(Name)
#define WICK_ROWS_kControl(Name)
#define WICK_OP(Name, id, Attrs, signature, rule, Role, Kind, flags) WICK_ROWS_##Role(Name)
#include "runtime/ops/ops.def"
#undef WICK_OP
#undef WICK_ROWS_kInfer
#undef WICK_ROWS_kTrain
#undef WICK_ROWS_kControl

// Used in a family file: WICK_REF_ROWS(Relu, {...}, {...}); rows in order of preference.
#define WICK_REF_ROWS(Name, ...)                                 \
  static constexpr KernelRow kRefArray_##Name[] = {__VA_ARGS__}; \
  constinit const Span<const KernelRow> kRefRows_##Name = kRefArray_##Name
#define WICK_CPU_ROWS(Name, ...)                                 \
  static constexpr KernelRow kCpuArray_##Name[] = {__VA_ARGS__}; \
  constinit const Span<const KernelRow> kCpuRows_##Name = kCpuArray_##Name
#define WICK_NO_CPU_ROWS(Name) constinit const Span<const KernelRow> kCpuRows_##Name = {}

}  // namespace wick
