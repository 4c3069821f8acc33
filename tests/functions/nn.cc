#include "tests/functions/function_row.h"

namespace wick::test {

std::vector<FunctionRow> nn_rows() {
  Rows row;
  row("softmax", smooth, kFloats)
      .sample("torch.softmax(x0, 1)", {x({3, 4})}, WICK_FN(softmax(x0, 1)))
      .sample("torch.softmax(x0, 0)", {x({3, 4})}, WICK_FN(softmax(x0, 0)))
      .half_ulps(4);  // exp and the quotient each round
  row("conv2d", smooth, dtypes(DType::kF64, DType::kF32))
      .sample("F.conv2d(x0, x1, x2, stride=(2, 1), padding=1)",
              {x({2, 2, 5, 4}), x({3, 2, 3, 2}), x({3})}, WICK_FN(conv2d(x0, x1, x2, {2, 1}, 1)));
  return row.all;
}

}  // namespace wick::test
