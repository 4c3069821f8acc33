// rows_digest: for each op whose test row is linked in, prints a digest of the results of its
// samples on every target that promises the reference's bits (P2), f32 and integers.
// tests/targets/rows.sh compares the lines of two machines.
#include "hwy/targets.h"
#include "runtime/kernels/elementwise/half_kernels.h"
#include "runtime/kernels/simd.h"
#include "tests/ops/values.h"
#include "tests/support/digest.h"

namespace wick::test {

#define WICK_OP(Name, id, Attrs, signature, rule, Role, Kind, flags) \
  extern const TestRow kTest_##Name __attribute__((weak));
#include "runtime/ops/ops.def"
#undef WICK_OP

namespace {

const TestRow* const kRows[] = {
#define WICK_OP(Name, id, Attrs, signature, rule, Role, Kind, flags) &kTest_##Name,
#include "runtime/ops/ops.def"
#undef WICK_OP
};
constexpr const KernelSet* kCpu[] = {&kCpuKernels, &kHalfKernels, &kReferenceKernels};
constexpr const KernelSet* kReference[] = {&kReferenceKernels};

bool add(const TestRow& row, Span<const KernelSet* const> sets, uint64_t* hash) {
  for (const Sample& s : row.samples()) {
    std::vector<Value> got;
    const Status status =
        run_op(row.op, s.attrs.get(), make_inputs(s), s.outputs, sets, nullptr, &got);
    if (!status.ok()) return std::printf("%s: %s\n", s.name.c_str(), status.message()), false;
    for (const Value& v : got) {
      const TensorView t = v.view();
      if (t.dtype == DType::kF32) {
        *hash = digest(t.as<float>(), t.numel(), *hash);
      } else if (!is_float(t.dtype) && t.dtype != DType::kString) {
        *hash = digest_bytes(t.data, t.nbytes(), *hash);
      }
    }
  }
  return true;
}

int run() {
  bool same = true;
  for (const TestRow* row : kRows) {
    if (row == nullptr) continue;
    const char* name = find_op(row->op)->name;
    uint64_t want = kDigestSeed;
    same = add(*row, kReference, &want) && same;
    for_each_simd_target([&](int64_t target) {
      uint64_t hash = kDigestSeed;
      same = add(*row, kCpu, &hash) && same;
      if (!simd_target_has_fma(target) || hash == want) return;
      std::printf("%s gives other bits on %s\n", name, simd_target_name(target));
      same = false;
    });
    print_digest(name, want);
  }
  return same ? 0 : 1;
}

}  // namespace
}  // namespace wick::test

int main() { return wick::test::run(); }
