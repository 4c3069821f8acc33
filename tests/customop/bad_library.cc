// Libraries of ops that must be refused, each for one reason.
#include <wick/custom_op.h>

#ifdef WICK_NO_ENTRY
extern "C" __attribute__((visibility("default"))) int wick_something_else() { return 1; }
#else
namespace {

wick::Status copy(const wick::KernelCtx&, wick::Span<const wick::TensorView>,
                  wick::Span<wick::TensorView>, const void*) {
  return {};
}
constexpr wick::KernelRow kRows[] = {wick::kernel_row<float>("copy.f32", copy)};
#ifdef WICK_BAD_OP
constexpr wick::CustomOp kOp = {.domain = "test", .name = "not a name", .kernels = kRows};
#else
constexpr wick::CustomOp kOp = {.domain = "test", .name = "Copy", .kernels = kRows};
#endif

}  // namespace

extern "C" __attribute__((visibility("default"))) const wick::OpLibraryInfo* wick_op_library() {
  static constexpr const wick::CustomOp* kOps[] = {&kOp};
#ifdef WICK_BAD_ABI
  constexpr uint32_t kAbi = wick::kCustomOpAbi - 1;
#else
  constexpr uint32_t kAbi = wick::kCustomOpAbi;
#endif
#ifdef WICK_BAD_LAYOUT
  constexpr uint32_t kBytes = sizeof(wick::CustomOp) - 8;
#else
  constexpr uint32_t kBytes = sizeof(wick::CustomOp);
#endif
  static constexpr wick::OpLibraryInfo kInfo = {wick::kOpLibraryMagic,   kAbi, kBytes,
                                                sizeof(wick::KernelRow), kOps, 1};
  return &kInfo;
}
#endif
