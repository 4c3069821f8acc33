#include "tests/functions/function_row.h"

namespace wick::test {

std::vector<FunctionRow> creation_rows() {
  Rows row;
  row("zeros", creation, kStored)
      .sample("torch.zeros(2, 3, dtype=dtype)", {}, WICK_FN(zeros({2, 3}, dtype)));
  row("ones", creation, kStored)
      .sample("torch.ones(2, 3, dtype=dtype)", {}, WICK_FN(ones({2, 3}, dtype)));
  row("full", creation, kStored)
      .sample("torch.full((2, 0), 3, dtype=dtype)", {}, WICK_FN(full({2, 0}, 3, dtype)))
      .sample("torch.full((2, 2), 3, dtype=dtype)", {}, WICK_FN(full({2, 2}, 3, dtype)));
  row("arange", creation, kNumbers)
      .sample("torch.arange(5, dtype=dtype)", {}, WICK_FN(arange(5, dtype)))
      .sample("torch.arange(1, 10, 3, dtype=dtype)", {}, WICK_FN(arange(1, 10, 3, dtype)));
  row("eye", creation, kAll).sample("torch.eye(3, dtype=dtype)", {}, WICK_FN(eye(3, dtype)));
  row("zeros_like", creation, kStored)
      .sample("torch.zeros_like(x0)", {x({2, 3})}, WICK_FN(zeros_like(x0)));
  row("ones_like", creation, kStored)
      .sample("torch.ones_like(x0)", {x({2, 3})}, WICK_FN(ones_like(x0)));
  row("full_like", creation, kStored)
      .sample("torch.full_like(x0, 2)", {x({2, 3})}, WICK_FN(full_like(x0, 2)));
  // their values are whatever the memory held: shape and dtype, through ones of the same
  row("empty", creation, kStored)
      .sample("torch.empty(2, 3, dtype=dtype).fill_(1)", {},
              WICK_FN(empty({2, 3}, dtype).fill_(1)));
  row("empty_like", creation, kStored)
      .sample("torch.empty_like(x0).fill_(1)", {x({2, 3})}, WICK_FN(empty_like(x0).fill_(1)));
  row("tensor", creation, dtypes(DType::kF32))
      .sample("torch.tensor([[1., 2.], [3., 4.]])", {}, WICK_FN(tensor({{1.f, 2.f}, {3.f, 4.f}})));
  row("from_blob", creation, dtypes(DType::kI16))
      .sample("torch.tensor([1, -2, 3], dtype=dtype)", {}, [](const Case& c) -> List {
        const int16_t host[] = {1, -2, 3};
        return {from_blob(host, {3}, c.dtype)};
      });
  return row.all;
}

}  // namespace wick::test
