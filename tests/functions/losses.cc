#include "tests/functions/function_row.h"

namespace wick::test {

std::vector<FunctionRow> losses_rows() {
  Rows row;
  row("cross_entropy", smooth, kFloats)
      .sample("F.cross_entropy(x0, x1)", {x({3, 4}), index({2, 0, 3})},
              WICK_FN(cross_entropy(x0, x1)))
      .sample("F.cross_entropy(x0, x1, reduction='sum')", {x({3, 4}), index({2, 0, 3})},
              WICK_FN(cross_entropy(x0, x1, Reduction::kSum)))
      .half_ulps(8);  // log_softmax, then a sum
  row("nll_loss", smooth, kFloats)
      .sample("F.nll_loss(x0, x1)", {x({3, 4}), index({2, 0, 3})}, WICK_FN(nll_loss(x0, x1)))
      .sample("F.nll_loss(x0, x1, reduction='none')", {x({3, 4}), index({2, 0, 3})},
              WICK_FN(nll_loss(x0, x1, Reduction::kNone)));
  row("mse_loss", smooth, kFloats)
      .sample("F.mse_loss(x0, x1)", {x({3, 4}), x({3, 4})}, WICK_FN(mse_loss(x0, x1)))
      .sample("F.mse_loss(x0, x1, reduction='none')", {x({3, 4}), x({3, 4})},
              WICK_FN(mse_loss(x0, x1, Reduction::kNone)))
      .half_ulps(4);  // difference, square, mean
  return row.all;
}

}  // namespace wick::test
