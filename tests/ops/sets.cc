#include "tests/ops/sets.h"

namespace wick::test {
namespace {
constexpr const KernelSet* kReference[] = {&kReferenceKernels};
constexpr const KernelSet* kCpu[] = {&kCpuKernels, &kReferenceKernels};
}  // namespace
Span<const KernelSet* const> reference_sets() { return kReference; }
Span<const KernelSet* const> cpu_sets() { return kCpu; }
}  // namespace wick::test
