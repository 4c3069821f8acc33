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
  constexpr DTypeSet kReal = dtypes(DType::kF32, DType::kF64);
  row("arange of floats", creation, kReal)
      .sample("torch.arange(1, 5, .5, dtype=dtype)", {}, WICK_FN(arange(1, 5, .5, dtype)))
      .sample("torch.arange(1., 0., -.3, dtype=dtype)", {}, WICK_FN(arange(1., 0., -.3, dtype)))
      .alias("arange_float");
  row("linspace", creation, kReal)
      .sample("torch.linspace(-1, 2, 7, dtype=dtype)", {}, WICK_FN(linspace(-1, 2, 7, dtype)))
      .sample("torch.linspace(3, 10, 1, dtype=dtype)", {}, WICK_FN(linspace(3, 10, 1, dtype)))
      .sample("torch.linspace(3, 10, 0, dtype=dtype)", {}, WICK_FN(linspace(3, 10, 0, dtype)));
  row("logspace", creation, kReal)
      .sample("torch.logspace(-1, 2, 4, dtype=dtype)", {}, WICK_FN(logspace(-1, 2, 4, 10, dtype)))
      .sample("torch.logspace(0, 3, 4, 2, dtype=dtype)", {}, WICK_FN(logspace(0, 3, 4, 2, dtype)));
  row("eye of two sizes", creation, kAll)
      .sample("torch.eye(2, 3, dtype=dtype)", {}, WICK_FN(eye(2, 3, dtype)))
      .sample("torch.eye(3, 2, dtype=dtype)", {}, WICK_FN(eye(3, 2, dtype)));
  row("identity", creation, kAll)
      .sample("torch.eye(3, dtype=dtype)", {}, WICK_FN(identity(3, dtype)));
  row("tri", creation, kReal)
      .sample("torch.tril(torch.ones(3, 4, dtype=dtype), 1)", {}, WICK_FN(tri(3, 4, 1, dtype)))
      .sample("torch.tril(torch.ones(3, 2, dtype=dtype), -1)", {}, WICK_FN(tri(3, 2, -1, dtype)));
  row("scalar_tensor", creation, kNumbers)
      .sample("torch.scalar_tensor(3, dtype=dtype)", {}, WICK_FN(scalar_tensor(3, dtype)));
  row("like in a dtype", creation, kReal)
      .sample("torch.zeros_like(x0, dtype=torch.int64)", {x({2, 3})},
              WICK_FN(zeros_like(x0, DType::kI64)))
      .sample("torch.ones_like(x0, dtype=torch.int64)", {x({2, 3})},
              WICK_FN(ones_like(x0, DType::kI64)))
      .sample("torch.full_like(x0, 3, dtype=torch.int64)", {x({2, 3})},
              WICK_FN(full_like(x0, 3, DType::kI64)));
  row("tensor of nested lists", creation, dtypes(DType::kF64))
      .sample("torch.tensor([[[1., 2.], [3., 4.]]], dtype=dtype)", {},
              WICK_FN(tensor({{{1., 2.}, {3., 4.}}}, dtype)))
      .sample("torch.tensor([[[[1.], [2.]]]], dtype=dtype)", {},
              WICK_FN(tensor({{{{1.}, {2.}}}}, dtype)))
      .sample("torch.tensor(3., dtype=dtype)", {}, WICK_FN(tensor(3., dtype)))
      .sample("torch.tensor([True, False])", {}, WICK_FN(tensor({true, false})))
      .sample("torch.tensor([1., 2.])", {}, WICK_FN(tensor({1., 2.})))
      .sample("torch.tensor([[1, 2], [3, 4]])", {}, WICK_FN(tensor({{1, 2}, {3, 4}})))
      .sample("torch.tensor([1., float('nan'), 2])", {}, WICK_FN(tensor({1., NAN, 2})))
      .sample("torch.tensor(0.1)", {}, WICK_FN(tensor(0.1)))
      .sample("torch.tensor(3)", {}, WICK_FN(tensor(3)));
  row("new_empty", creation, kReal)
      .sample("torch.zeros(2, 3) == 5", {x({2})}, WICK_FN(eq(x0.new_empty({2, 3}).zero_(), 5)));
  row("new_zeros", creation, kReal)
      .sample("x0.new_zeros((2, 3))", {x({2})}, WICK_FN(x0.new_zeros({2, 3})))
      .sample("x0.new_zeros((2, 3), dtype=torch.int64)", {x({2})},
              WICK_FN(x0.new_zeros({2, 3}, DType::kI64)));
  row("new_ones", creation, kReal)
      .sample("x0.new_ones((2, 3))", {x({2})}, WICK_FN(new_ones(x0, {2, 3})));
  row("new_full", creation, kReal)
      .sample("x0.new_full((2, 3), 1.5)", {x({2})}, WICK_FN(x0.new_full({2, 3}, 1.5)));
  row("type_as", smooth, kReal)
      .sample("x0.type_as(x1)", {x({2, 3}), x({1})}, WICK_FN(type_as(x0, x1)));
  return row.all;
}

}  // namespace wick::test
