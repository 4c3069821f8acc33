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
  row("rand_like", random_output, kFloats)
      .sample("torch.rand_like(x0)", {x({3, 4})}, WICK_FN(rand_like(x0)));
  row("randn_like", random_output, kFloats)
      .sample("torch.randn_like(x0)", {x({3, 4})}, WICK_FN(randn_like(x0)));
  row("randint_like", random_output, kNumbers)
      .sample("torch.randint_like(x0, 1, 5)", {x({3, 4})}, WICK_FN(randint_like(x0, 1, 5)));
  row("normal", random_output, dtypes(DType::kF32, DType::kF64))
      .sample("torch.normal(x0, 2.)", {x({3, 4})}, WICK_FN(normal(x0, full({}, 2, dtype))));
  row("bernoulli", random_output, kFloats)
      .sample("torch.bernoulli(x0)", {x({3, 4}, 0, 1)}, WICK_FN(bernoulli(x0)));
  row("multinomial", random_output, dtypes(DType::kF32, DType::kF64))
      .sample("torch.multinomial(x0, 5, True)", {x({3, 4}, 0.5, 1)},
              WICK_FN(multinomial(x0, 5, true)))
      .sample("torch.multinomial(x0, 3)", {x({4}, 0.5, 1)}, WICK_FN(multinomial(x0, 3)));
#define X(name, ...)                 \
  row(#name, random_output, kFloats) \
      .sample("x0.clone()." #name "()", {x({3, 4})}, WICK_FN(name(x0.clone() __VA_ARGS__)));
  X(uniform_)
  X(normal_)
  X(bernoulli_)
  X(exponential_)
  X(random_, , 0, 9)
#undef X
  row("gumbel_softmax", random_output, dtypes(DType::kF32, DType::kF64))
      .sample("F.gumbel_softmax(x0)", {x({3, 4})}, WICK_FN(gumbel_softmax(x0)))
      .sample("F.gumbel_softmax(x0, 0.5, True, dim=0)", {x({3, 4})},
              WICK_FN(gumbel_softmax(x0, 0.5, true, 0)));
  return row.all;
}

}  // namespace wick::test
