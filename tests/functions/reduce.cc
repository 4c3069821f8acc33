#include "tests/functions/function_row.h"

namespace wick::test {

std::vector<FunctionRow> reduce_rows() {
  Rows row;
  row("sum", smooth, kAll)
      .sample("x0.sum()", {x({2, 3, 2})}, WICK_FN(sum(x0)))
      .sample("x0.sum((0, -1), keepdim=True)", {x({2, 3, 2})}, WICK_FN(sum(x0, {0, -1}, true)))
      .sample("x0.sum(0)", {x({0, 3})}, WICK_FN(sum(x0, {0})));
  row("mean", smooth, kFloats)
      .sample("x0.mean()", {x({2, 3, 2})}, WICK_FN(mean(x0)))
      .sample("x0.mean(1)", {x({2, 3, 2})}, WICK_FN(mean(x0, {1})));
  row("amax", piecewise, kNumbers)
      .sample("x0.amax((0, 2))", {distinct({2, 3, 2})}, WICK_FN(amax(x0, {0, 2})));
  row("amin", piecewise, kNumbers)
      .sample("x0.amin(1, True)", {distinct({2, 3, 2})}, WICK_FN(amin(x0, {1}, true)));
  row("prod", smooth, kFloats)
      .sample("x0.prod()", {off_zero({2, 3})}, WICK_FN(prod(x0)))
      .sample("x0.prod(1)", {off_zero({2, 3, 2})}, WICK_FN(prod(x0, {1})));
  row("max", piecewise, kNumbers).sample("x0.max()", {distinct({2, 3, 2})}, WICK_FN(max(x0)));
  row("min", piecewise, kNumbers).sample("x0.min()", {distinct({2, 3, 2})}, WICK_FN(min(x0)));
  row("argmin", integer_output, kNumbers)
      .sample("x0.argmin(-1)", {distinct({3, 4})}, WICK_FN(argmin(x0, -1)));
  row("argmax", integer_output, kNumbers)
      .sample("x0.argmax(1)", {distinct({3, 4})}, WICK_FN(argmax(x0, 1)))
      .sample("x0.argmax(0, True)", {distinct({3, 4})}, WICK_FN(argmax(x0, 0, true)));
  return row.all;
}

}  // namespace wick::test
