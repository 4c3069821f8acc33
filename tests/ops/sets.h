// The kernel sets the row tests compare.
#pragma once

#include "runtime/kernels/kernel.h"

namespace wick::test {
Span<const KernelSet* const> reference_sets();
Span<const KernelSet* const> cpu_sets();
}  // namespace wick::test
