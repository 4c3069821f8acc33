// In-place forms: the value, the gradient through the write, and the bytes of the target. The free
// function is a line over the same code.
#include "tests/functions/function_row.h"

namespace wick::test {

std::vector<FunctionRow> inplace_rows() {
  Rows row;
  constexpr DTypeSet kReal = dtypes(DType::kF32, DType::kF64);
  constexpr const char* kOut = "out refuses what would be recorded, as PyTorch's does";

  // X(name, mark, inputs, arguments in Python, in C++)
#define X(name, mark, input, python, ...)                   \
  row(#name "_", mark, kReal)                               \
      .sample("x0.clone()." #name "_(" python ")", {input}, \
              WICK_FN(x0.clone().name##_(__VA_ARGS__)));
  X(abs, piecewise, off_zero({2, 3}), "")
  X(neg, smooth, given({-1.7, -0.3, 0.4, 1.6}), "")
  X(sign, piecewise_constant, given({-1.7, -0.3, 0.4, 1.6}), "")
  X(square, smooth, given({-1.7, -0.3, 0.4, 1.6}), "")
  X(sqrt, smooth, x({2, 3}, 0.5, 2), "")
  X(rsqrt, smooth, x({2, 3}, 0.5, 2), "")
  X(reciprocal, smooth, x({2, 3}, 0.5, 2), "")
  X(exp, smooth, given({-1.7, -0.3, 0.4, 1.6}), "")
  X(exp2, smooth, given({-1.7, -0.3, 0.4, 1.6}), "")
  X(expm1, smooth, given({-1.7, -0.3, 0.4, 1.6}), "")
  X(log, smooth, x({2, 3}, 0.5, 2), "")
  X(log2, smooth, x({2, 3}, 0.5, 2), "")
  X(log10, smooth, x({2, 3}, 0.5, 2), "")
  X(log1p, smooth, x({2, 3}, 0.5, 2), "")
  X(sin, smooth, given({-1.7, -0.3, 0.4, 1.6}), "")
  X(cos, smooth, given({-1.7, -0.3, 0.4, 1.6}), "")
  X(tan, smooth, given({-1.7, -0.3, 0.4, 1.6}), "")
  X(atan, smooth, given({-1.7, -0.3, 0.4, 1.6}), "")
  X(sinh, smooth, given({-1.7, -0.3, 0.4, 1.6}), "")
  X(cosh, smooth, given({-1.7, -0.3, 0.4, 1.6}), "")
  X(tanh, smooth, given({-1.7, -0.3, 0.4, 1.6}), "")
  X(sinc, piecewise, off_zero({2, 3}), "")
  X(deg2rad, smooth, given({-1.7, -0.3, 0.4, 1.6}), "")
  X(rad2deg, smooth, given({-1.7, -0.3, 0.4, 1.6}), "")
  X(erf, smooth, given({-1.7, -0.3, 0.4, 1.6}), "")
  X(erfc, smooth, given({-1.7, -0.3, 0.4, 1.6}), "")
  X(sigmoid, smooth, given({-1.7, -0.3, 0.4, 1.6}), "")
  X(floor, piecewise_constant, given({-1.7, -0.3, 0.4, 1.6}), "")
  X(ceil, piecewise_constant, given({-1.7, -0.3, 0.4, 1.6}), "")
  X(trunc, piecewise_constant, given({-1.7, -0.3, 0.4, 1.6}), "")
  X(frac, piecewise, given({-1.7, -0.3, 0.4, 1.6}), "")
  X(round, piecewise_constant, given({-1.7, -0.3, 0.4, 1.6}), "")
  X(asin, smooth, x({3}, -0.75, 0.75), "")
  X(acos, smooth, x({3}, -0.75, 0.75), "")
  X(clamp, piecewise, distinct({3, 4}), "-0.53125, 0.53125", -0.53125, 0.53125)
  X(clip, piecewise, distinct({3, 4}), "-0.53125, 0.53125", -0.53125, 0.53125)
  X(clamp_min, piecewise, distinct({3, 4}), "0.0625", 0.0625)
  X(clamp_max, piecewise, distinct({3, 4}), "0.0625", 0.0625)
  X(logit, smooth, x({3}, 0.25, 0.75), "")
  X(nan_to_num, piecewise, x({3}), "")
  X(relu, piecewise, off_zero({3, 4}), "")
  X(pow, smooth, x({3}, 0.5, 2), "3", 3)
  X(remainder, piecewise, given({2.5, -2.5, 0.75}), "2", 2)
  X(fmod, piecewise, given({2.5, -2.5, 0.75}), "2", 2)
  X(floor_divide, piecewise_constant, given({2.5, -2.5, 0.75}), "2", 2)
  X(eq, piecewise_constant, given({1, 2, 0.5}), "2", 2)
  X(ne, piecewise_constant, given({1, 2, 0.5}), "2", 2)
  X(lt, piecewise_constant, given({1, 3, 0.5}), "2", 2)
  X(le, piecewise_constant, given({1, 3, 0.5}), "2", 2)
  X(gt, piecewise_constant, given({1, 3, 0.5}), "2", 2)
  X(ge, piecewise_constant, given({1, 3, 0.5}), "2", 2)
  X(logical_not, piecewise_constant, given({1, 0, 0.5}), "")
#undef X
  // F.name(x, inplace=True) and torch.name_(x)
#define X(name, input, expression, ...) \
  row(#name "_", piecewise, kReal).sample(expression, {input}, WICK_FN(name##_(__VA_ARGS__)));
  X(leaky_relu, off_zero({3, 4}), "F.leaky_relu_(x0.clone(), 0.2)", x0.clone(), 0.2)
  X(elu, off_zero({3, 4}), "F.elu_(x0.clone(), 0.75)", x0.clone(), 0.75)
  X(celu, off_zero({3, 4}), "F.celu_(x0.clone(), 0.75)", x0.clone(), 0.75)
  X(selu, off_zero({3, 4}), "F.selu_(x0.clone())", x0.clone())
  X(silu, off_zero({3, 4}), "F.silu(x0.clone(), inplace=True)", x0.clone())
  X(mish, off_zero({3, 4}), "F.mish(x0.clone(), inplace=True)", x0.clone())
  X(relu6, off_zero({3, 4}), "F.relu6(x0.clone(), inplace=True)", x0.clone())
  X(hardswish, off_zero({3, 4}), "F.hardswish(x0.clone(), inplace=True)", x0.clone())
  X(hardsigmoid, off_zero({3, 4}), "F.relu6(x0 + 3) / 6", x0.clone())
  X(hardtanh, distinct({3, 4}), "F.hardtanh_(x0.clone(), -0.53125, 0.53125)", x0.clone(), -0.53125,
    0.53125)
  X(threshold, distinct({3, 4}), "F.threshold_(x0.clone(), 0.0625, 7)", x0.clone(), 0.0625, 7)
#undef X
  // PyTorch 1.13 has no derivative of these in-place forms
  row("acosh_", smooth, kReal)
      .sample("torch.acosh(x0)", {x({3}, 1.5, 3)}, WICK_FN(x0.clone().acosh_()));
  row("atanh_", smooth, kReal)
      .sample("torch.atanh(x0)", {x({3}, -0.75, 0.75)}, WICK_FN(x0.clone().atanh_()));
  row("asinh_", smooth, kReal)
      .sample("torch.asinh(x0)", {given({-1.7, -0.3, 0.4, 1.6})}, WICK_FN(x0.clone().asinh_()));
  // with another tensor
#define X(name, mark, a, b)   \
  row(#name "_", mark, kReal) \
      .sample("x0.clone()." #name "_(x1)", {a, b}, WICK_FN(x0.clone().name##_(x1)));
  X(add, smooth, x({2, 3}), x({3}))
  X(sub, smooth, x({2, 3}), x({3}))
  X(mul, smooth, x({2, 3}), x({3}))
  X(div, smooth, x({2, 3}), off_zero({3}))
  X(atan2, smooth, off_zero({2, 3}), off_zero({3}))
  X(hypot, smooth, off_zero({2, 3}), off_zero({3}))
  X(xlogy, smooth, x({2, 3}), x({3}, 0.5, 2))
  X(copysign, piecewise, off_zero({2, 3}), off_zero({3}).no_grad())
  X(logical_and, piecewise_constant, x({4}), given({0, 1, 0, 1}))
  X(logical_or, piecewise_constant, x({4}), given({0, 1, 0, 1}))
  X(logical_xor, piecewise_constant, x({4}), given({0, 1, 0, 1}))
#undef X
#define X(name)                                                          \
  row(#name "_", integer_output, kInts)                                  \
      .sample("x0.clone()." #name "_(x1)", {x({5}, 0, 9), x({5}, 0, 3)}, \
              WICK_FN(x0.clone().name##_(x1)));
  X(bitwise_and)
  X(bitwise_or)
  X(bitwise_xor)
  X(bitwise_left_shift)
  X(bitwise_right_shift)
#undef X
  row("bitwise_not_", integer_output, kInts)
      .sample("x0.clone().bitwise_not_()", {x({5}, 0, 9)}, WICK_FN(x0.clone().bitwise_not_()));
  row("lerp_", smooth, kReal)
      .sample("x0.clone().lerp_(x1, 0.25)", {x({3}), x({3})}, WICK_FN(x0.clone().lerp_(x1, 0.25)));
  row("addcmul_", smooth, kReal)
      .sample("x0.clone().addcmul_(x1, x2, value=2)", {x({3}), x({3}), x({3})},
              WICK_FN(x0.clone().addcmul_(x1, x2, 2)));
  row("addcdiv_", smooth, kReal)
      .sample("x0.clone().addcdiv_(x1, x2, value=2)", {x({3}), x({3}), off_zero({3})},
              WICK_FN(x0.clone().addcdiv_(x1, x2, 2)));
  row("fill_", piecewise_constant, kReal)
      .sample("x0.clone().fill_(3)", {x({3})}, WICK_FN(fill_(x0.clone(), 3)));
  row("zero_", piecewise_constant, kReal)
      .sample("x0.clone().zero_()", {x({3})}, WICK_FN(zero_(x0.clone())));
  row("compound assignment", smooth, kReal)
      .sample("(x0 + x1) * x1 / 2 - 1", {x({3}), x({3})},
              [](const Case& c) -> List {
                Tensor t = c.in[0].clone();
                t += c.in[1];
                t *= c.in[1];
                t /= 2;
                t -= 1;
                return {t};
              })
      .alias("operator+=")
      .alias("operator-=")
      .alias("operator*=")
      .alias("operator/=")
      .alias("operator%=")
      .alias("operator&=")
      .alias("operator|=")
      .alias("operator^=")
      .alias("operator<<=")
      .alias("operator>>=");

  // -- out: into the target's bytes
#define X(name, ...)                                              \
  row(#name "_out", not_recorded(kOut), kReal)                    \
      .not_captured("the form without out is the one to capture") \
      .sample("torch." #name "(x0)", {__VA_ARGS__}, WICK_FN(name##_out(empty_like(x0), x0)));
  X(exp, x({2, 3}))
  X(expm1, x({2, 3}))
  X(tanh, x({2, 3}))
  X(sigmoid, x({2, 3}))
  X(relu, x({2, 3}))
  X(erf, x({2, 3}))
  X(erfc, x({2, 3}))
  X(sin, x({2, 3}))
  X(cos, x({2, 3}))
  X(tan, x({2, 3}))
  X(atan, x({2, 3}))
  X(sinh, x({2, 3}))
  X(cosh, x({2, 3}))
  X(neg, x({2, 3}))
  X(abs, x({2, 3}))
  X(sign, x({2, 3}))
  X(floor, x({2, 3}))
  X(ceil, x({2, 3}))
  X(round, x({2, 3}))
  X(log, x({2, 3}, 0.5, 2))
  X(log1p, x({2, 3}, 0.5, 2))
  X(log2, x({2, 3}, 0.5, 2))
  X(log10, x({2, 3}, 0.5, 2))
  X(sqrt, x({2, 3}, 0.5, 2))
  X(reciprocal, x({2, 3}, 0.5, 2))
  X(asin, x({2, 3}, -0.75, 0.75))
  X(acos, x({2, 3}, -0.75, 0.75))
#undef X
  row("silu_out", not_recorded(kOut), kReal)
      .not_captured("the form without out is the one to capture")
      .sample("F.silu(x0)", {x({2, 3})}, WICK_FN(silu_out(empty_like(x0), x0)));
#define X(name, result, types)                                               \
  row(#name "_out", not_recorded(kOut), types)                               \
      .not_captured("the form without out is the one to capture")            \
      .sample("torch." #name "(x0, x1)", {x({2, 2}, 1, 4), x({2, 2}, 1, 3)}, \
              WICK_FN(name##_out(empty({2, 2}, result), x0, x1)));
  X(add, dtype, kReal)
  X(sub, dtype, kReal)
  X(mul, dtype, kReal)
  X(div, dtype, kReal)
  X(pow, dtype, kReal)
  X(maximum, dtype, kReal)
  X(minimum, dtype, kReal)
  X(atan2, dtype, kReal)
  X(matmul, dtype, kReal)
  X(eq, DType::kBool, kReal)
  X(lt, DType::kBool, kReal)
  X(le, DType::kBool, kReal)
  X(gt, DType::kBool, kReal)
  X(ge, DType::kBool, kReal)
  X(bitwise_and, dtype, kInts)
  X(bitwise_or, dtype, kInts)
  X(bitwise_xor, dtype, kInts)
#undef X
#define X(name)                                                   \
  row(#name "_out", not_recorded(kOut), kReal)                    \
      .not_captured("the form without out is the one to capture") \
      .sample("torch." #name "(x0, 1)", {x({2, 3})},              \
              WICK_FN(name##_out(empty({2}, dtype), x0, 1)));
  X(sum)
  X(mean)
  X(prod)
  X(amax)
  X(amin)
#undef X
  return row.all;
}

}  // namespace wick::test
