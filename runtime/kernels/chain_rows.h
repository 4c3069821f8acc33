// A row of FusedElementwise for chains of Add, Sub, Mul and Div alone, in a set of its own. The
// general row names the bodies of every elementwise op; a program of selected ops whose chains are
// arithmetic (a model that normalises its input) links four small ones instead.
#pragma once

#include "runtime/kernels/kernel.h"

namespace wick {

// Not asked by a session of the whole library: kCpuKernels has the general row.
extern const KernelSet kArithmeticChains;
extern const Span<const KernelRow> kArithmeticRows_FusedElementwise;  // NOLINT: as tables name it

}  // namespace wick
