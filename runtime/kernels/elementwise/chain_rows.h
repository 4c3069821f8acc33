// A FusedElementwise row for chains of only Add, Sub, Mul and Div, in a set of its own. The general
// row names the bodies of every elementwise op; a program of selected ops whose chains are
// arithmetic (a model that normalises its input) links four small bodies instead.
#pragma once

#include "runtime/kernels/kernel.h"

namespace wick {

// A session of the whole library does not search it: kCpuKernels has the general row.
extern const KernelSet kArithmeticChains;
extern const Span<const KernelRow> kArithmeticRows_FusedElementwise;  // NOLINT: a table name

}  // namespace wick
