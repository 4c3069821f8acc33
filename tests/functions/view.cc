#include "tests/functions/function_row.h"

namespace wick::test {

std::vector<FunctionRow> view_rows() {
  Rows row;
  row("Tensor.view", smooth, kStored)
      .sample("x0.reshape(3, 4)", {x({2, 3, 2})}, WICK_FN(x0.contiguous().view({3, 4})));
  row("Tensor.reshape", smooth, kStored)
      .sample("x0.reshape(3, -1)", {x({2, 3, 2})}, WICK_FN(x0.reshape({3, -1})))
      .sample("x0.t().reshape(-1)", {x({2, 3})}, WICK_FN(x0.t().reshape({-1})));
  row("Tensor.transpose", smooth, kStored)
      .sample("x0.transpose(0, -1)", {x({2, 3, 2})}, WICK_FN(x0.transpose(0, -1)));
  row("Tensor.permute", smooth, kStored)
      .sample("x0.permute(2, 0, 1)", {x({2, 3, 4})}, WICK_FN(x0.permute({2, 0, 1})));
  row("Tensor.t", smooth, kStored).sample("x0.t()", {x({2, 3})}, WICK_FN(x0.t()));
  row("Tensor.select", smooth, kStored)
      .sample("x0.select(1, -1)", {x({2, 3})}, WICK_FN(x0.select(1, -1)));
  row("Tensor.slice", smooth, kStored)
      .sample("x0[:, 1:5:2]", {x({2, 6})}, WICK_FN(x0.slice(1, 1, 5, 2)))
      .sample("x0[4:2]", {x({6})}, WICK_FN(x0.slice(0, 4, 2)));
  row("Tensor.narrow", smooth, kStored)
      .sample("x0.narrow(1, 1, 2)", {x({2, 4})}, WICK_FN(x0.narrow(1, 1, 2)));
  row("Tensor.expand", smooth, kStored)
      .sample("x0.expand(4, -1, 2)", {x({3, 1})}, WICK_FN(x0.expand({4, -1, 2})));
  row("Tensor.squeeze", smooth, kStored)
      .sample("x0.squeeze()", {x({1, 3, 1})}, WICK_FN(x0.squeeze()))
      .sample("x0.squeeze(-1)", {x({1, 3, 1})}, WICK_FN(x0.squeeze(-1)));
  row("Tensor.unsqueeze", smooth, kStored)
      .sample("x0.unsqueeze(-1)", {x({2, 3})}, WICK_FN(x0.unsqueeze(-1)));
  row("Tensor.flatten", smooth, kStored)
      .sample("x0.flatten(1)", {x({2, 3, 2})}, WICK_FN(x0.flatten(1)))
      .sample("x0.flatten()", {x({})}, WICK_FN(x0.flatten()));
  row("Tensor.contiguous", smooth, kStored)
      .sample("x0.t().contiguous()", {x({2, 3})}, WICK_FN(x0.t().contiguous()));
  row("Tensor.clone", smooth, kStored).sample("x0.clone()", {x({2, 3})}, WICK_FN(x0.clone()));
  row("Tensor.to", smooth, kStored)
      .sample("x0.to(torch.float32)", {x({2, 3}, 0, 4)}, WICK_FN(x0.to(DType::kF32)),
              kStored & ~dtypes(DType::kF64))
      .sample("x0.to(torch.int16)", {x({2, 3}, 0, 4)}, WICK_FN(x0.to(DType::kI16)),
              kStored & ~dtypes(DType::kF64))
      .sample("x0.to(torch.bool)", {given({0, 0.25, -1, 3})}, WICK_FN(x0.to(DType::kBool)),
              kStored & ~dtypes(DType::kF64))
      .sample("x0.to(torch.float64)", {x({2, 3}, 0, 4)}, WICK_FN(x0.to(DType::kF64)));
  return row.all;
}

}  // namespace wick::test
