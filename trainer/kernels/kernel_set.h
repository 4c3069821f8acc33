// The kernel rows of the training ops (role kTrain), named like the others in
// runtime/kernels/kernel_set.h.
#pragma once

#include "runtime/kernels/kernel_set.h"

namespace wick {

#define WICK_ROWS_kInfer(Name)
#define WICK_ROWS_kControl(Name)
#define WICK_ROWS_kTrain(Name)                        \
  extern const Span<const KernelRow> kRefRows_##Name; \
  extern const Span<const KernelRow> kCpuRows_##Name;
#define WICK_OP(Name, id, Attrs, signature, rule, Role, Kind, flags) WICK_ROWS_##Role(Name)
#include "runtime/ops/ops.def"
#undef WICK_OP
#undef WICK_ROWS_kInfer
#undef WICK_ROWS_kControl
#undef WICK_ROWS_kTrain

// Plain loops in contract order, and the SIMD rows. trainer_kernels() in trainer/tensor/call.cc has
// the sets that the trainer searches, in their order.
extern const KernelSet kTrainReferenceKernels;
extern const KernelSet kTrainKernels;

}  // namespace wick
