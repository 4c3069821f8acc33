#include "runtime/kernels/kernel_set.h"

namespace wick {
namespace {

constexpr KernelEntry kReferenceEntries[] = {
#define WICK_ENTRY_kInfer(Name) {OpId::k##Name, &kRefRows_##Name},
#define WICK_ENTRY_kTrain(Name)
#define WICK_ENTRY_kControl(Name)
#define WICK_OP(Name, id, Attrs, signature, rule, Role, Kind, flags) WICK_ENTRY_##Role(Name)
#include "runtime/ops/ops.def"
#undef WICK_ENTRY_kInfer
};

constexpr KernelEntry kCpuEntries[] = {
#define WICK_ENTRY_kInfer(Name) {OpId::k##Name, &kCpuRows_##Name},
#include "runtime/ops/ops.def"
#undef WICK_OP
#undef WICK_ENTRY_kInfer
#undef WICK_ENTRY_kTrain
#undef WICK_ENTRY_kControl
};

}  // namespace

constinit const KernelSet kReferenceKernels = {"reference", kReferenceEntries};
constinit const KernelSet kCpuKernels = {"cpu", kCpuEntries};

}  // namespace wick
