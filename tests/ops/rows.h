// Use in a family file: WICK_TEST_ROW(Relu, samples, oracle or nullptr, bound).
#pragma once

#include "tests/ops/op_row.h"

namespace wick::test {

#define WICK_OP(Name, id, Attrs, signature, rule, Role, Kind, flags) \
  extern const TestRow kTest_##Name;
#include "runtime/ops/ops.def"
#undef WICK_OP

#define WICK_TEST_ROW(Name, ...) const TestRow kTest_##Name = {OpId::k##Name, __VA_ARGS__}

}  // namespace wick::test
