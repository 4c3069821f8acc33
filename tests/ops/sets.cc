#include "tests/ops/sets.h"
#include "runtime/kernels/elementwise/half_kernels.h"
#include "runtime/kernels/product_rows.h"

#include "trainer/kernels/kernel_set.h"
#include "trainer/kernels/wide/rows.h"

namespace wick::test {
namespace {
constexpr const KernelSet* kReference[] = {&kReferenceKernels, &kTrainReferenceKernels};
constexpr const KernelSet* kCpu[] = {&kCpuKernels,           &kProductKernels, &kTrainKernels,
                                     &kHalfKernels,          &kWideKernels,    &kReferenceKernels,
                                     &kTrainReferenceKernels};
}  // namespace
Span<const KernelSet* const> reference_sets() { return kReference; }
Span<const KernelSet* const> cpu_sets() { return kCpu; }
}  // namespace wick::test
