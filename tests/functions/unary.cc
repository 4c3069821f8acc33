// Functions of one tensor beyond elementwise.cc's: those that convert integers, those made of
// several ops, tests.
#include "tests/functions/function_row.h"

namespace wick::test {

std::vector<FunctionRow> unary_rows() {
  Rows row;
  constexpr DTypeSet kReal = dtypes(DType::kF32, DType::kF64);

#define X(name, diff, ...) \
  row(#name, diff, kFloats).sample("torch." #name "(x0)", {__VA_ARGS__}, WICK_FN(name(x0)));
  X(expm1, smooth, given({-3, -1, -1e-3, 1e-3, 0.5, 2}))
  X(log1p, smooth, given({-0.5, -1e-3, 1e-3, 0.5, 2, 7}))
  X(log2, smooth, x({2, 3}, 0.125, 4))
  X(log10, smooth, x({2, 3}, 0.125, 4))
  X(erfc, smooth, x({2, 3}))
#undef X
  // Composites: a rounding an op in float16.
#define X(name, diff, ...)  \
  row(#name, diff, kFloats) \
      .half_ulps(6)         \
      .sample("torch." #name "(x0)", {__VA_ARGS__}, WICK_FN(name(x0)));
  X(rsqrt, smooth, x({2, 3}, 0.25, 4))
  X(exp2, smooth, x({2, 3}))
  X(sinc, piecewise, off_zero({2, 3}, 0.25))
  X(deg2rad, smooth, x({2, 3}, -90, 90))
  X(rad2deg, smooth, x({2, 3}))
  X(frac, piecewise, given({-2.75, -0.5, 0.25, 1.5, 3.125}))
  X(trunc, piecewise_constant, given({-2.75, -0.5, 0.25, 1.5, 3.125}))
  X(positive, smooth, x({2, 3}))
  X(nan_to_num, piecewise, given({-2, 0.5, 1}))
#undef X
  row("logit", smooth, kFloats)
      .half_ulps(8)
      .sample("torch.logit(x0)", {x({2, 3}, 0.25, 0.75)}, WICK_FN(logit(x0)))
      .sample("torch.logit(x0, 0.25)", {given({0.125, 0.375, 0.5, 0.875})},
              WICK_FN(logit(x0, 0.25)), kReal);
  row("logsigmoid", smooth, kFloats)
      .half_ulps(4)
      .sample("F.logsigmoid(x0)", {x({2, 3}, -4, 4)}, WICK_FN(logsigmoid(x0)))
      .sample("F.logsigmoid(x0)", {given({-1000, 1000})}, WICK_FN(logsigmoid(x0)), kReal);

  // integers and bools become float32
#define X(name) .sample("torch." #name "(x0)", {x({5}, 1, 4)}, WICK_FN(name(x0)))
  row("integers become floats", integer_output, kInts | kBool) X(exp) X(log) X(sqrt) X(sin)
      X(sigmoid) X(tanh) X(log1p) X(expm1) X(erf) X(atan) X(rsqrt) X(reciprocal);
#undef X
  // integers stay
#define X(name) .sample("torch." #name "(x0)", {x({5}, -4, 4)}, WICK_FN(name(x0)))
  row("integers stay", integer_output, kInts) X(abs) X(sign) X(square) X(floor) X(ceil) X(trunc);
#undef X
  // bools
#define X(name)                                                                    \
  row(#name, integer_output, kFloats)                                              \
      .sample("torch." #name "(x0)", {given({0, -0.0, 1, -2, kInf, -kInf, kNan})}, \
              WICK_FN(name(x0)))                                                   \
      .sample("torch." #name "(x0)", {x({4}, 0, 3)}, WICK_FN(name(x0)), kInts | kBool);
  X(isnan)
  X(isinf)
  X(isfinite)
  X(isposinf)
  X(isneginf)
  X(signbit)
#undef X
  row("nan_to_num of specials", kink("NaN and infinities"), kReal)
      .sample("torch.nan_to_num(x0)", {given({kNan, kInf, -kInf, 1})}, WICK_FN(nan_to_num(x0)),
              dtypes(DType::kF64))
      .sample("torch.nan_to_num(x0, 1, 2, 3)", {given({kNan, kInf, -kInf, 1})},
              WICK_FN(nan_to_num(x0, 1, 2, 3)));
  row("round to decimals", piecewise_constant, kReal)
      .sample("torch.round(x0, decimals=2)", {x({6})}, WICK_FN(round(x0, 2)))
      .sample("torch.round(x0, decimals=-1)", {x({6}, -99, 99)}, WICK_FN(round(x0, -1)));

  // other names of the same
#define X(name, other, ...) \
  row(#name, smooth, kReal).sample("torch." #other "(x0)", {__VA_ARGS__}, WICK_FN(name(x0)));
  X(arcsin, asin, x({3}, -0.75, 0.75))
  X(arccos, acos, x({3}, -0.75, 0.75))
  X(arctan, atan, x({3}))
  X(arcsinh, asinh, x({3}))
  X(arccosh, acosh, x({3}, 1.5, 3))
  X(arctanh, atanh, x({3}, -0.75, 0.75))
  X(negative, neg, x({3}))
#undef X
  row("absolute", piecewise, kReal).sample("torch.abs(x0)", {off_zero({3})}, WICK_FN(absolute(x0)));
  row("fix", piecewise_constant, kReal).sample("torch.fix(x0)", {x({3})}, WICK_FN(fix(x0)));
  row("sgn", piecewise_constant, kReal).sample("torch.sgn(x0)", {x({3})}, WICK_FN(sgn(x0)));

  // -- activations
  row("celu", piecewise, kFloats)
      .half_ulps(4)
      .sample("F.celu(x0, 0.75)", {off_zero({3, 4})}, WICK_FN(celu(x0, 0.75)))
      .sample("F.celu(x0)", {off_zero({4})}, WICK_FN(celu(x0)));
  row("selu", piecewise, kFloats)
      .half_ulps(4)
      .sample("F.selu(x0)", {off_zero({3, 4})}, WICK_FN(selu(x0)));
  row("mish", smooth, kFloats).half_ulps(6).sample("F.mish(x0)", {x({3, 4})}, WICK_FN(mish(x0)));
  row("softsign", piecewise, kFloats)
      .half_ulps(4)
      .sample("F.softsign(x0)", {off_zero({3, 4})}, WICK_FN(softsign(x0)));
  row("tanhshrink", smooth, kReal).sample("F.tanhshrink(x0)", {x({3, 4})}, WICK_FN(tanhshrink(x0)));
  row("hardtanh", piecewise, kFloats)
      .sample("F.hardtanh(x0, -0.78125, 1.28125)", {distinct({3, 4})},
              WICK_FN(hardtanh(x0, -0.78125, 1.28125)));
  row("prelu", piecewise, kReal)
      .sample("F.prelu(x0, x1)", {off_zero({2, 3, 2}), x({3})}, WICK_FN(prelu(x0, x1)))
      .sample("F.prelu(x0, x1)", {off_zero({5}), x({1})}, WICK_FN(prelu(x0, x1)));
  row("softplus with beta", smooth, kReal)
      .sample("F.softplus(x0, 2, 3)", {x({6}, -4, 1)}, WICK_FN(softplus(x0, 2, 3)))
      .sample("F.softplus(x0, 2, 3)", {given({1.75, 3, 40})}, WICK_FN(softplus(x0, 2, 3)));
  row("softshrink", piecewise, kFloats)
      .sample("F.softshrink(x0, 0.53125)", {distinct({3, 4})}, WICK_FN(softshrink(x0, 0.53125)));
  row("hardshrink", piecewise, kFloats)
      .sample("F.hardshrink(x0, 0.53125)", {distinct({3, 4})}, WICK_FN(hardshrink(x0, 0.53125)));
  row("threshold", piecewise, kFloats)
      .sample("F.threshold(x0, 0.125, 7)", {distinct({3, 4})}, WICK_FN(threshold(x0, 0.125, 7)));
  row("glu", smooth, kFloats)
      .half_ulps(4)
      .sample("F.glu(x0)", {x({3, 4})}, WICK_FN(glu(x0)))
      .sample("F.glu(x0, 0)", {x({4, 3})}, WICK_FN(glu(x0, 0)));
  row("softmin", smooth, kReal).sample("F.softmin(x0, 1)", {x({3, 4})}, WICK_FN(softmin(x0, 1)));
  row("softmax in a dtype", smooth, kFloats)
      .sample("torch.softmax(x0, 1, dtype=torch.float64)", {x({3, 4})},
              WICK_FN(softmax(x0, 1, DType::kF64)), kReal)
      .sample("torch.log_softmax(x0, 0, dtype=torch.float64)", {x({3, 4})},
              WICK_FN(log_softmax(x0, 0, DType::kF64)), kReal)
      .sample("torch.softmax(x0, 0)", {given({1000, 1001})}, WICK_FN(softmax(x0, 0)), kReal)
      .sample("torch.sigmoid(x0)", {given({-1000, 1000})}, WICK_FN(sigmoid(x0)), kReal);
  return row.all;
}

}  // namespace wick::test
