#include "tests/functions/function_row.h"

namespace wick::test {

std::vector<FunctionRow> elementwise_rows() {
  Rows row;

  // -- arithmetic: broadcasting, C++ numbers, 0-dim tensors, empty ones
  row("add", smooth, kNumbers)
      .sample("x0 + x1", {x({2, 1, 3}), x({4, 1})}, WICK_FN(add(x0, x1)))
      .sample("x0 + 2", {x({5})}, WICK_FN(x0 + 2))
      .sample("x0 + 1.5", {x({5})}, WICK_FN(x0 + 1.5))
      .sample("3 + x0", {x({})}, WICK_FN(3 + x0))
      .sample("x0 + x1", {x({0, 3}), x({3})}, WICK_FN(x0 + x1))
      .alias("operator+");
  row("sub", smooth, kNumbers)
      .sample("x0 - x1", {x({2, 3}), x({3})}, WICK_FN(sub(x0, x1)))
      .sample("2 - x0", {x({5})}, WICK_FN(2 - x0))
      .alias("operator-");
  row("mul", smooth, kNumbers)
      .sample("x0 * x1", {x({2, 3}), x({2, 1})}, WICK_FN(mul(x0, x1)))
      .sample("x0 * 0.5", {x({5})}, WICK_FN(x0 * 0.5))
      .alias("operator*");
  row("div", smooth, kNumbers)
      .sample("x0 / x1", {x({2, 3}), off_zero({3})}, WICK_FN(div(x0, x1)))
      .sample("1 / x0", {off_zero({5})}, WICK_FN(1 / x0))
      .alias("operator/");
  row("pow", smooth, kFloats)
      .sample("x0 ** x1", {x({2, 3}, 0.5, 2), x({3})}, WICK_FN(pow(x0, x1)))
      .sample("x0 ** 3", {x({5})}, WICK_FN(pow(x0, 3)));
  row("maximum", piecewise, kNumbers)
      .sample("torch.maximum(x0, x1)", {distinct({2, 3}), given({0.01, -0.2, 0.3})},
              WICK_FN(maximum(x0, x1)))
      .sample("torch.maximum(x0, x1)", {given({kNan, 1, -0.0}), given({1, kNan, 0.0})},
              WICK_FN(maximum(x0, x1)), dtypes(DType::kF32));
  row("minimum", piecewise, kNumbers)
      .sample("torch.minimum(x0, x1)", {distinct({2, 3}), given({0.01, -0.2, 0.3})},
              WICK_FN(minimum(x0, x1)));

  // -- comparison and logic
  row("eq", integer_output, kStored)
      .sample("x0 == x1", {x({4, 5}, 0, 3), x({5}, 0, 3)}, WICK_FN(eq(x0, x1)))
      .sample("x0 == 1", {x({5}, 0, 3)}, WICK_FN(eq(x0, 1)));
  row("ne", integer_output, kStored)
      .sample("x0 != x1", {x({4, 5}, 0, 3), x({5}, 0, 3)}, WICK_FN(ne(x0, x1)))
      .sample("x0 != 1", {x({5}, 0, 3)}, WICK_FN(ne(x0, 1)));
  row("le", integer_output, kNumbers | kWide)
      .sample("x0 <= x1", {x({4, 5}, 0, 3), x({5}, 0, 3)}, WICK_FN(le(x0, x1)))
      .sample("x0 <= 1", {x({5}, 0, 3)}, WICK_FN(le(x0, 1)));
  row("gt", integer_output, kNumbers | kWide)
      .sample("x0 > x1", {x({4, 5}, 0, 3), x({5}, 0, 3)}, WICK_FN(gt(x0, x1)))
      .sample("x0 > 1", {x({5}, 0, 3)}, WICK_FN(gt(x0, 1)));
  row("ge", integer_output, kNumbers | kWide)
      .sample("x0 >= x1", {x({4, 5}, 0, 3), x({5}, 0, 3)}, WICK_FN(ge(x0, x1)))
      .sample("x0 >= nan", {given({1, kNan, kInf})}, WICK_FN(ge(x0, kNan)), dtypes(DType::kF32));
  row("lt", integer_output, kNumbers | kWide)
      .sample("x0 < x1", {x({4, 5}), x({5})}, WICK_FN(lt(x0, x1)));
  row("logical_and", integer_output, kAll)
      .sample("torch.logical_and(x0, x1)", {given({0, 1, 0, 1}), given({0, 0, 1, 1})},
              WICK_FN(logical_and(x0, x1)));
  row("logical_or", integer_output, kAll)
      .sample("torch.logical_or(x0, x1)", {given({0, 1, 0, 1}), given({0, 0, 1, 1})},
              WICK_FN(logical_or(x0, x1)));
  row("logical_xor", integer_output, kAll)
      .sample("torch.logical_xor(x0, x1)", {given({0, 1, 0, 1}), given({0, 0, 1, 1})},
              WICK_FN(logical_xor(x0, x1)));
  row("logical_not", integer_output, kAll)
      .sample("torch.logical_not(x0)", {given({0, 1, -2})}, WICK_FN(logical_not(x0)));
  row("where", piecewise, kStored)
      .sample("torch.where(x0, x1, x2)", {mask({2, 3}), x({2, 3}), x({3})},
              WICK_FN(where(x0, x1, x2)));

  // -- unary
#define X(name, diff, dtypes, ...) \
  row(#name, diff, dtypes).sample("torch." #name "(x0)", {__VA_ARGS__}, WICK_FN(name(x0)));
  X(sigmoid, smooth, kFloats, x({2, 3}, -4, 4))
  X(tanh, smooth, kFloats, x({2, 3}, -3, 3))
  X(exp, smooth, kFloats, x({2, 3}))
  X(log, smooth, kFloats, x({2, 3}, 0.125, 4))
  X(sqrt, smooth, kFloats, x({2, 3}, 0.25, 4))
  X(reciprocal, smooth, kFloats, off_zero({2, 3}))
  X(erf, smooth, kFloats, x({2, 3}))
  X(sin, smooth, kFloats, x({2, 3}))
  X(cos, smooth, kFloats, x({2, 3}))
  X(tan, smooth, kFloats, x({2, 3}, -1, 1))
  X(asin, smooth, kFloats, x({2, 3}, -0.75, 0.75))
  X(acos, smooth, kFloats, x({2, 3}, -0.75, 0.75))
  X(atan, smooth, kFloats, x({2, 3}))
  X(sinh, smooth, kFloats, x({2, 3}))
  X(cosh, smooth, kFloats, x({2, 3}))
  X(asinh, smooth, kFloats, x({2, 3}))
  X(acosh, smooth, kFloats, x({2, 3}, 1.5, 3))
  X(atanh, smooth, kFloats, x({2, 3}, -0.75, 0.75))
  X(neg, smooth, kNumbers, x({2, 3}))
  X(abs, piecewise, kNumbers, off_zero({2, 3}))
  X(floor, piecewise_constant, kFloats, x({2, 3}))
  X(ceil, piecewise_constant, kFloats, x({2, 3}))
  X(round, piecewise_constant, kFloats, given({-2.5, -1.5, -0.5, 0.5, 1.5, 2.5, 0.3}))
  X(sign, piecewise_constant, kNumbers, x({2, 3}))
  X(square, smooth, kNumbers, x({2, 3}))
#undef X
  // their kinks: -3, 0, 3, 6
  row("relu", piecewise, kNumbers).sample("F.relu(x0)", {off_zero({3, 4})}, WICK_FN(relu(x0)));
  row("leaky_relu", piecewise, kFloats)
      .sample("F.leaky_relu(x0, 0.2)", {off_zero({3, 4})}, WICK_FN(leaky_relu(x0, 0.2)))
      .sample("F.leaky_relu(x0)", {off_zero({4})}, WICK_FN(leaky_relu(x0)));
  row("elu", piecewise, kFloats)
      .sample("F.elu(x0, 0.75)", {off_zero({3, 4})}, WICK_FN(elu(x0, 0.75)));
  row("relu6", piecewise, kFloats)
      .sample("F.relu6(x0)", {given({-4, -0.5, 0.5, 5.5, 7})}, WICK_FN(relu6(x0)));
  row("relu6 at its ends", kink("0 and 6"), kFloats)
      .sample("F.relu6(x0)", {given({0, 6, 3, 7, -1})}, WICK_FN(relu6(x0)))
      .sample("F.hardtanh(x0)", {given({-1, 1, 0.5, -2, 2})}, WICK_FN(hardtanh(x0)))
      // at 3 PyTorch's vectors and what is left of them differ
      .sample("F.hardswish(x0)", {given({-3, -4, 4})}, WICK_FN(hardswish(x0)));
  row("hardsigmoid", piecewise, kFloats)
      // F.hardsigmoid's gradient has 1/6 in float32
      .sample("F.relu6(x0 + 3) / 6", {given({-4, -2, -0.5, 0.5, 2, 4})}, WICK_FN(hardsigmoid(x0)));
  row("hardswish", piecewise, kFloats)
      .sample("F.hardswish(x0)", {given({-4, -2, -0.5, 0.5, 2, 4})}, WICK_FN(hardswish(x0)));
  row("silu", smooth, kFloats).sample("F.silu(x0)", {x({2, 3}, -4, 4)}, WICK_FN(silu(x0)));
  row("softplus", smooth, kFloats)
      .sample("F.softplus(x0)", {x({2, 3}, -4, 4)}, WICK_FN(softplus(x0)));
  row("gelu", smooth, kFloats)
      .sample("F.gelu(x0)", {x({3, 4})}, WICK_FN(gelu(x0)))
      .sample("F.gelu(x0, approximate='tanh')", {x({3, 4})}, WICK_FN(gelu(x0, true)));
  row("clamp", piecewise, kNumbers)
      .sample("torch.clamp(x0, -0.5, 1.25)", {distinct({3, 4})}, WICK_FN(clamp(x0, -0.5, 1.25)),
              kFloats)
      .sample("torch.clamp(x0, -1, 1)", {distinct({3, 4})}, WICK_FN(clamp(x0, -1, 1)),
              kFloats | kSigned);
  return row.all;
}

}  // namespace wick::test
