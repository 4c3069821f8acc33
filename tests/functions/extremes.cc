// Inputs at which exp overflows: the value and gradient of functions built on it have no NaN.
#include "tests/functions/function_row.h"

namespace wick::test {

std::vector<FunctionRow> extremes_rows() {
  Rows row;
  constexpr DTypeSet kBoth = dtypes(DType::kF64, DType::kF32);
  In wide = given({-1000, -104, -40, -8, 8, 40, 104, 1000});
#define X(name, torch, ...) \
  row(#name ".extremes", smooth, kBoth).sample(torch, {wide}, WICK_FN(__VA_ARGS__));
  X(sigmoid, "torch.sigmoid(x0)", sigmoid(x0))
  X(tanh, "torch.tanh(x0)", tanh(x0))
  X(silu, "F.silu(x0)", silu(x0))
  X(softplus, "F.softplus(x0)", softplus(x0))
  X(gelu, "F.gelu(x0)", gelu(x0))
  X(gelu_tanh, "F.gelu(x0, approximate='tanh')", gelu(x0, true))
  X(elu, "F.elu(x0)", elu(x0))
#undef X
  In logits = given({1000, 1001, -1000, -1001, 0, 1000}, {3, 2});
  row("softmax.extremes", smooth, kBoth)
      .sample("torch.softmax(x0, 1)", {logits}, WICK_FN(softmax(x0, 1)));
  row("log_softmax.extremes", smooth, kBoth)
      .sample("torch.log_softmax(x0, 1)", {logits}, WICK_FN(log_softmax(x0, 1)));
  row("cross_entropy.extremes", smooth, kBoth)
      .sample("F.cross_entropy(x0, x1)", {logits, index({0, 1, 0})},
              WICK_FN(cross_entropy(x0, x1)));
  return row.all;
}

}  // namespace wick::test
