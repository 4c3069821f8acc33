#include "tests/functions/function_row.h"

namespace wick::test {

std::vector<FunctionRow> random_rows() {
  Rows row;
  row("rand", random_output, dtypes(DType::kF32, DType::kF64))
      .sample("torch.rand(3, 4, dtype=dtype)", {}, WICK_FN(rand({3, 4}, dtype)));
  row("randn", random_output, dtypes(DType::kF32, DType::kF64))
      .sample("torch.randn(3, 4, dtype=dtype)", {}, WICK_FN(randn({3, 4}, dtype)));
  row("uniform", random_output, dtypes(DType::kF32, DType::kF64))
      .sample("torch.empty(3, 4, dtype=dtype).uniform_(-1, 1)", {},
              WICK_FN(uniform({3, 4}, -1, 1, dtype)));
  row("randint", random_output, dtypes(DType::kI64))
      .sample("torch.randint(-3, 5, (3, 4))", {}, WICK_FN(randint(-3, 5, {3, 4})));
  row("randperm", random_output, dtypes(DType::kI64))
      .sample("torch.randperm(7)", {}, WICK_FN(randperm(7)));
  return row.all;
}

}  // namespace wick::test
