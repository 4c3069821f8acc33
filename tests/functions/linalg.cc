#include "tests/functions/function_row.h"

namespace wick::test {

std::vector<FunctionRow> linalg_rows() {
  Rows row;
  row("matmul", smooth, kFloats)
      .sample("x0 @ x1", {x({3, 4}), x({4, 2})}, WICK_FN(matmul(x0, x1)))
      .sample("x0 @ x1", {x({2, 1, 2, 3}), x({2, 3, 2})}, WICK_FN(matmul(x0, x1)))
      .sample("x0 @ x1", {x({3}), x({3})}, WICK_FN(matmul(x0, x1)))
      .sample("x0 @ x1", {x({3}), x({2, 3, 2})}, WICK_FN(matmul(x0, x1)));
  row("linear", smooth, kFloats)
      .sample("F.linear(x0, x1, x2)", {x({2, 2, 3}), x({4, 3}), x({4})},
              WICK_FN(linear(x0, x1, x2)))
      .sample("F.linear(x0, x1)", {x({3}), x({4, 3})}, WICK_FN(linear(x0, x1)));
  return row.all;
}

}  // namespace wick::test
