#include "tests/functions/function_row.h"

namespace wick::test {

std::vector<FunctionRow> layout_rows() {
  Rows row;
  row("cat", smooth, kStored)
      .sample("torch.cat([x0, x1, x2], 1)", {x({2, 1}), x({2, 3}), x({2, 0})},
              WICK_FN(cat({x0, x1, x2}, 1)));
  row("cat of two dtypes", smooth, kFloats)
      .sample("torch.cat([x0, x1])", {x({2}), index({3, 4})}, WICK_FN(cat({x0, x1})))
      .sample("torch.cat([x0, x1])", {x({2}), of(DType::kF64, x({3}))}, WICK_FN(cat({x0, x1})))
      .sample("torch.stack([x0, x1])", {x({2}), index({3, 4})}, WICK_FN(stack({x0, x1})))
      .sample("torch.cat([x0, x1], 1)", {given({}, {0}), x({2, 3})},  // an empty one
              WICK_FN(cat({x0, x1}, 1)));
  row("stack", smooth, kStored)
      .sample("torch.stack([x0, x1], -1)", {x({2, 3}), x({2, 3})}, WICK_FN(stack({x0, x1}, -1)));
  row("split", smooth, kStored)
      .sample("torch.split(x0, 2, 1)", {x({2, 5})}, WICK_FN(split(x0, 2, 1)))
      .sample("torch.split(x0, 2, 1)", {x({2, 0})}, WICK_FN(split(x0, 2, 1)));
  row("pad", smooth, kNumbers)
      .sample("F.pad(x0, (1, 2, 0, 1), value=1.0)", {x({2, 3})},
              WICK_FN(pad(x0, {1, 2, 0, 1}, 1.0)));
  row("gather", smooth, kStored)
      .sample("torch.gather(x0, 1, x1)", {x({2, 3}), index({2, 0, 2, 1}, {2, 2})},
              WICK_FN(gather(x0, 1, x1)));
  row("index_select", smooth, kStored)
      .sample("torch.index_select(x0, 1, x1)", {x({2, 3, 2}), index({2, 0, 2})},
              WICK_FN(index_select(x0, 1, x1)));
  row("scatter_add", smooth, dtypes(DType::kF64, DType::kF32, DType::kI64, DType::kI32))
      .sample("x0.scatter_add(1, x1, x2)", {x({2, 3}), index({2, 0, 2, 2}, {2, 2}), x({2, 2})},
              WICK_FN(scatter_add(x0, 1, x1, x2)))
      .sample("x0.scatter_add(0, x1, x2[:2, :2])",
              {x({2, 3}), index({1, 0, 1, 1}, {2, 2}), x({4, 3})},
              WICK_FN(scatter_add(x0, 0, x1, x2)));
  return row.all;
}

}  // namespace wick::test
