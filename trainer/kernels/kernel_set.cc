#include "trainer/kernels/kernel_set.h"

namespace wick {
namespace {

#define WICK_ENTRY_kInfer(Rows, Name)
#define WICK_ENTRY_kControl(Rows, Name)
#define WICK_ENTRY_kTrain(Rows, Name) {OpId::k##Name, &Rows##Name},

constexpr KernelEntry kReferenceEntries[] = {
#define WICK_OP(Name, id, Attrs, signature, rule, Role, Kind, flags) \
  WICK_ENTRY_##Role(kRefRows_, Name)
#include "runtime/ops/ops.def"
#undef WICK_OP
};

constexpr KernelEntry kCpuEntries[] = {
#define WICK_OP(Name, id, Attrs, signature, rule, Role, Kind, flags) \
  WICK_ENTRY_##Role(kCpuRows_, Name)
#include "runtime/ops/ops.def"
#undef WICK_OP
};

}  // namespace

constinit const KernelSet kTrainReferenceKernels = {"train-reference", kReferenceEntries};
constinit const KernelSet kTrainKernels = {"train", kCpuEntries};

}  // namespace wick
