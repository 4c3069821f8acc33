// The table of all test rows.
#include "tests/ops/rows.h"

namespace wick::test {
namespace {

constexpr const TestRow* kRows[] = {
#define WICK_TESTED_kInfer(Name) &kTest_##Name,
#define WICK_TESTED_kTrain(Name) &kTest_##Name,
#define WICK_TESTED_kControl(Name)  // no kernels: tests/graph and tests/runtime
#define WICK_OP(Name, id, Attrs, signature, rule, Role, Kind, flags) WICK_TESTED_##Role(Name)
#include "runtime/ops/ops.def"
#undef WICK_OP
};

}  // namespace

Span<const TestRow* const> all_test_rows() { return kRows; }

}  // namespace wick::test
