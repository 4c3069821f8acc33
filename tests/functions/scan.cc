#include "tests/functions/function_row.h"

namespace wick::test {

std::vector<FunctionRow> scan_rows() {
  Rows row;
  row("cumsum", smooth, kAll)
      .sample("torch.cumsum(x0, 0)", {x({4, 3})}, WICK_FN(cumsum(x0, 0)))
      .sample("torch.cumsum(x0, -1)", {x({2, 3, 2})}, WICK_FN(cumsum(x0, -1)))
      .sample("torch.cumsum(x0, 0)", {x(Shape{})}, WICK_FN(cumsum(x0, 0)))
      .sample("torch.cumsum(x0, 1)", {x({2, 0})}, WICK_FN(cumsum(x0, 1)))
      .sample("torch.cumsum(x0, 0, dtype=torch.float64)", {x({3})},
              WICK_FN(cumsum(x0, 0, DType::kF64)))
      .half_ulps(4);  // every partial sum rounds where it is stored
  row("cumprod", smooth, kAll)
      .sample("torch.cumprod(x0, 1)", {off_zero({2, 4})}, WICK_FN(cumprod(x0, 1)))
      .sample("torch.cumprod(x0, 0)", {given({1, 0, 3, 2, 0, 4})}, WICK_FN(cumprod(x0, 0)));
  In far = given({-1000, 0, 2, 1, -3, 80}, {2, 3});
  row("cummax", piecewise, kNumbers)
      .sample("torch.cummax(x0, 1)", {distinct({3, 5})},
              WICK_FN(List{cummax(x0, 1).values, cummax(x0, 1).indices}))
      .sample("torch.cummax(x0, 0)", {distinct({7})},
              WICK_FN(List{cummax(x0, 0).values, cummax(x0, 0).indices}));
  row("cummin", piecewise, kNumbers)
      .sample("torch.cummin(x0, 0)", {distinct({6, 2})},
              WICK_FN(List{cummin(x0, 0).values, cummin(x0, 0).indices}));
  // of equal ones the last; NaN stays
  row("cummax.ties", kink("ties and NaN"), kFloats)
      .sample("torch.cummax(x0, 1)", {given({1, 3, 3, 2, 3, 0, kNan, 4, kNan, 5}, {2, 5})},
              WICK_FN(List{cummax(x0, 1).values, cummax(x0, 1).indices}))
      .sample("torch.cummin(x0, 1)", {given({1, 3, 1, 2, 1, 0, kNan, 4, kNan, 5}, {2, 5})},
              WICK_FN(List{cummin(x0, 1).values, cummin(x0, 1).indices}));
  row("logcumsumexp", smooth, kFloats)
      .sample("torch.logcumsumexp(x0, 1)", {x({3, 5})}, WICK_FN(logcumsumexp(x0, 1)))
      .sample("torch.logcumsumexp(x0, 1)", {far}, WICK_FN(logcumsumexp(x0, 1)),
              dtypes(DType::kF32, DType::kF64))
      .half_ulps(6);  // rounds after each of its steps
  row("logcumsumexp.inf", kink("infinities"), dtypes(DType::kF32, DType::kF64))
      .sample("torch.logcumsumexp(x0, 0)", {given({-kInf, -kInf, 1, kInf, 2})},
              WICK_FN(logcumsumexp(x0, 0)));
  row("diff", smooth, kAll)
      .sample("torch.diff(x0)", {x({3, 4})}, WICK_FN(diff(x0)))
      .sample("torch.diff(x0, 2, 0)", {x({4, 2})}, WICK_FN(diff(x0, 2, 0)))
      .sample("torch.diff(x0, dim=1, prepend=x1, append=x2)", {x({2, 3}), x({2, 1}), x({2, 2})},
              WICK_FN(diff(x0, 1, 1, x1, x2)));
  return row.all;
}

}  // namespace wick::test
