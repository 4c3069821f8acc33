// Functions of two tensors beyond elementwise.cc's: remainders, bits, combinations, promotion.
#include "tests/functions/function_row.h"

namespace wick::test {

std::vector<FunctionRow> pointwise_rows() {
  Rows row;
  constexpr DTypeSet kReal = dtypes(DType::kF32, DType::kF64);
  constexpr DTypeSet kBits = kInts | kBool;

  // -- arithmetic
  row("rsub", smooth, kNumbers)
      .sample("torch.rsub(x0, x1, alpha=2)", {x({2, 3}), x({3})}, WICK_FN(rsub(x0, x1, 2)))
      .sample("torch.rsub(x0, 2)", {x({3})}, WICK_FN(rsub(x0, 2)));
  row("add alpha", smooth, kNumbers)
      .sample("torch.add(x0, x1, alpha=2)", {x({2, 3}), x({3})}, WICK_FN(add(x0, x1, 2)))
      .sample("torch.sub(x0, x1, alpha=2)", {x({2, 3}), x({3})}, WICK_FN(sub(x0, x1, 2)));
  row("bools", integer_output, kBool)
      .sample("x0 + x1", {mask({4}), mask({4})}, WICK_FN(x0 + x1))
      .sample("x0 * x1", {mask({4}), mask({4})}, WICK_FN(x0 * x1))
      .sample("x0 / x1", {mask({4}), given({1, 1, 1, 1})}, WICK_FN(x0 / x1))
      .sample("x0 + 1", {mask({4})}, WICK_FN(x0 + 1))
      .sample("x0 * 1.5", {mask({4})}, WICK_FN(x0 * 1.5))
      .sample("torch.maximum(x0, x1)", {mask({4}), mask({4})}, WICK_FN(maximum(x0, x1)))
      .sample("x0 < x1", {mask({4}), mask({4})}, WICK_FN(lt(x0, x1)))
      .sample("~x0", {mask({4})}, WICK_FN(~x0));
#define X(name)                                                                                 \
  row(#name, piecewise, kReal)                                                                  \
      .sample("torch." #name "(x0, x1)",                                                        \
              {given({2.5, -2.5, 7.25, -1.0, 5.5}), given({1.0, 1.0, -2.0, -3.0, 0.75})},       \
              WICK_FN(name(x0, x1)))                                                            \
      .sample("torch." #name "(x0, 3)", {given({2.5, -2.5, 7.25, -1.0})}, WICK_FN(name(x0, 3))) \
      .sample("torch." #name "(x0, x1)", {given({7, -7, 7, -7}), given({3, 3, -3, -3})},        \
              WICK_FN(name(x0, x1)), kSigned)                                                   \
      .sample("torch." #name "(x0, x1)", {given({7, 8, 9, 200}), given({3, 3, 4, 7})},          \
              WICK_FN(name(x0, x1)), dtypes(DType::kU8));
  X(remainder)
  X(fmod)
#undef X
  row("floor_divide", piecewise_constant, kReal)
      .sample("torch.floor_divide(x0, x1)",
              {given({7, -7, 7, -7, 1, 0.5}), given({3, 3, -3, -3, 0.1, -kInf})},
              WICK_FN(floor_divide(x0, x1)))
      .sample("torch.floor_divide(x0, x1)", {given({7, -7, 7, -7}), given({3, 3, -3, -3})},
              WICK_FN(floor_divide(x0, x1)), kSigned)
      .sample("torch.div(x0, x1, rounding_mode='trunc')",
              {given({7, -7, 7, -7}), given({3, 3, -3, -3})}, WICK_FN(div(x0, x1, "trunc")),
              kSigned | kReal)
      .sample("torch.div(x0, 2, rounding_mode='floor')", {given({7, -7})},
              WICK_FN(div(x0, 2, "floor")), kSigned | kReal);
  row("float_power", smooth, kReal)
      .sample("torch.float_power(x0, x1)", {x({2, 3}, 0.5, 2), x({3})},
              WICK_FN(float_power(x0, x1)));
  row("integer powers", integer_output, kInts)
      .sample("x0 ** 3", {x({5}, -3, 3)}, WICK_FN(pow(x0, 3)))
      .sample("x0 ** 2", {x({5}, -3, 3)}, WICK_FN(pow(x0, 2)))
      .sample("x0 ** 0.5", {x({5}, 0, 9)}, WICK_FN(pow(x0, 0.5)))
      .sample("2 ** x0", {x({5}, 0, 5)}, WICK_FN(pow(2, x0)));
  row("fmax", piecewise, kReal)
      .sample("torch.fmax(x0, x1)", {distinct({2, 3}), given({0.01, -0.2, 0.3})},
              WICK_FN(fmax(x0, x1)));
  row("fmin", piecewise, kReal)
      .sample("torch.fmin(x0, x1)", {distinct({2, 3}), given({0.01, -0.2, 0.3})},
              WICK_FN(fmin(x0, x1)));
  row("fmax and fmin of NaN", kink("NaN"), kReal)
      .sample("torch.fmax(x0, x1)", {given({kNan, 1, kNan}), given({1, kNan, kNan})},
              WICK_FN(fmax(x0, x1)))
      .sample("torch.fmin(x0, x1)", {given({kNan, 1, kNan}), given({1, kNan, kNan})},
              WICK_FN(fmin(x0, x1)));
  row("atan2", smooth, kReal)
      .sample("torch.atan2(x0, x1)", {off_zero({2, 3}), off_zero({3})}, WICK_FN(atan2(x0, x1)))
      .alias("arctan2");
  row("atan2 on the axes", kink("the cut and the origin"), kReal)
      .sample("torch.atan2(x0, x1)",
              {given({0, -0.0, 0, -0.0, 1, -1, kInf, kInf}),
               given({1, 1, -1, -1, 0, -0.0, kInf, -kInf})},
              WICK_FN(atan2(x0, x1)));
  row("hypot", smooth, kReal)
      .sample("torch.hypot(x0, x1)", {off_zero({2, 3}), off_zero({3})}, WICK_FN(hypot(x0, x1)));
#define X(name)                                                                                  \
  row(#name, smooth, kReal)                                                                      \
      .sample("torch." #name "(x0, x1)", {x({2, 3}, -4, 4), x({3})}, WICK_FN(name(x0, x1)));     \
  row(#name " at the ends", kink("infinities"), kReal)                                           \
      .sample("torch." #name "(x0, x1)",                                                         \
              {given({kInf, -kInf, -kInf, 1000, 0, kNan}), given({kInf, -kInf, 1, 1000, 0, 1})}, \
              WICK_FN(name(x0, x1)));
  X(logaddexp)
  X(logaddexp2)
#undef X
  row("xlogy", smooth, kReal)
      .sample("torch.xlogy(x0, x1)", {x({2, 3}), x({3}, 0.25, 2)}, WICK_FN(xlogy(x0, x1)));
  row("xlogy at 0", kink("0"), kReal)
      .sample("torch.xlogy(x0, x1)", {given({0, 0, 0, 1}), given({0, -1, kNan, 0})},
              WICK_FN(xlogy(x0, x1)));
  row("copysign", piecewise, kReal)
      .sample("torch.copysign(x0, x1)", {off_zero({4}), given({1, -1, 0.0, -0.0}).no_grad()},
              WICK_FN(copysign(x0, x1)));
  row("copysign of 0", kink("0"), kReal)
      .sample("torch.copysign(x0, x1)", {given({0, -0.0, 1}), given({-1, 1, -1}).no_grad()},
              WICK_FN(copysign(x0, x1)));
  row("pow of 0 and of less", kink("base 0, and below"), kReal)
      .sample("torch.pow(x0, x1)", {given({0, 0, 2, 0}), given({2, 0, 3, -1})},
              WICK_FN(pow(x0, x1)))
      .sample("torch.pow(x0, x1)", {given({-2}).no_grad(), given({2})}, WICK_FN(pow(x0, x1)));
  row("rounded quotient by 0", kink("divisor 0"), kReal)
      .sample("torch.div(x0, x1, rounding_mode='floor')", {given({1, 3, 0}), given({0, 2, 0})},
              WICK_FN(div(x0, x1, "floor")))
      .sample("torch.div(x0, x1, rounding_mode='trunc')", {given({1, 3, 0}), given({0, 2, 0})},
              WICK_FN(div(x0, x1, "trunc")));
  row("clamp at its bounds", kink("x at a bound"), kReal)
      .sample("torch.clamp(x0, x1, x2)",
              {given({1, 2, 3, 0, 9}), given({1, 1, 1, 1, 1}), given({3, 3, 3, 3, 3})},
              WICK_FN(clamp(x0, x1, x2)))
      .sample("torch.clamp(x0, 1, 3)", {given({1, 2, 3, 0, 9})}, WICK_FN(clamp(x0, 1, 3)));
  // PyTorch 1.13 has no derivative of it
  row("heaviside", smooth, kNumbers)
      .sample("torch.heaviside(x0, x1)", {given({-1, 0, 2}).no_grad(), given({3}).no_grad()},
              WICK_FN(heaviside(x0, x1)))
      .sample("torch.where(x0 == 0, x1, (x0 > 0).to(dtype))",
              {given({-1, 0, 2}).no_grad(), given({3})}, WICK_FN(heaviside(x0, x1)));
  row("ldexp", smooth, kReal)
      .sample("torch.ldexp(x0, x1)", {x({3}), given({-2, 0, 3}).no_grad()}, WICK_FN(ldexp(x0, x1)));

  // -- bits
#define X(name)                                                             \
  row(#name, integer_output, kBits)                                         \
      .sample("torch." #name "(x0, x1)", {x({4, 5}, -9, 9), x({5}, -9, 9)}, \
              WICK_FN(name(x0, x1)));
  X(bitwise_and)
  X(bitwise_or)
  X(bitwise_xor)
#undef X
  row("bitwise_not", integer_output, kBits)
      .sample("torch.bitwise_not(x0)", {x({5}, -9, 9)}, WICK_FN(bitwise_not(x0)))
      .alias("operator~");
  row("bit operators", integer_output, kInts)
      .sample("x0 & 3", {x({5}, 0, 9)}, WICK_FN(x0 & 3))
      .sample("x0 | x1", {x({5}, 0, 9), x({5}, 0, 9)}, WICK_FN(x0 | x1))
      .sample("x0 ^ 5", {x({5}, 0, 9)}, WICK_FN(x0 ^ 5))
      .sample("x0 << 2", {x({5}, 0, 9)}, WICK_FN(x0 << 2))
      .sample("x0 >> 1", {x({5}, -9, 9)}, WICK_FN(x0 >> 1))
      .sample("x0 % 4", {x({5}, -9, 9)}, WICK_FN(x0 % 4))
      .alias("operator&")
      .alias("operator|")
      .alias("operator^")
      .alias("operator<<")
      .alias("operator>>")
      .alias("operator%");
  row("bitwise_left_shift", integer_output, kInts)
      .sample("torch.bitwise_left_shift(x0, x1)", {x({5}, 0, 9), x({5}, 0, 3)},
              WICK_FN(bitwise_left_shift(x0, x1)));
  row("bitwise_right_shift", integer_output, kInts)
      .sample("torch.bitwise_right_shift(x0, x1)", {x({5}, -90, 90), x({5}, 0, 3)},
              WICK_FN(bitwise_right_shift(x0, x1)));
  row("gcd", integer_output, kInts)
      .not_captured("runs until every element is done")
      .sample("torch.gcd(x0, x1)", {given({12, 18, 0, 7, 100}), given({18, 12, 5, 0, 75})},
              WICK_FN(gcd(x0, x1)));
  row("lcm", integer_output, kInts)
      .not_captured("runs until every element is done")
      .sample("torch.lcm(x0, x1)", {given({4, 6, 0, 7}), given({6, 4, 5, 3})},
              WICK_FN(lcm(x0, x1)));

  // -- other names of the same
#define X(name)             \
  row(#name, smooth, kReal) \
      .sample("torch." #name "(x0, x1)", {x({3}), off_zero({3})}, WICK_FN(name(x0, x1)));
  X(multiply)
  X(divide)
  X(true_divide)
  X(subtract)
#undef X
#define X(name)                     \
  row(#name, integer_output, kReal) \
      .sample("torch." #name "(x0, x1)", {x({5}, 0, 3), x({5}, 0, 3)}, WICK_FN(name(x0, x1)));
  X(not_equal)
  X(less)
  X(less_equal)
  X(greater)
  X(greater_equal)
#undef X

  // -- choice and combination
  row("where with a number", smooth, kReal)
      .sample("torch.where(x0, x1, torch.tensor(2., dtype=dtype))", {mask({2, 3}), x({2, 3})},
              WICK_FN(where(x0, x1, 2)))
      .sample("torch.where(x0, torch.tensor(2., dtype=dtype), x1)", {mask({2, 3}), x({2, 3})},
              WICK_FN(where(x0, 2, x1)));
  row("clamp by one bound", piecewise, kReal)
      .sample("torch.clamp(x0, min=0.0625)", {distinct({3, 4})}, WICK_FN(clamp(x0, 0.0625)))
      .sample("torch.clamp(x0, max=0.0625)", {distinct({3, 4})},
              WICK_FN(clamp(x0, OptScalar(), 0.0625)))
      .sample("torch.clamp(x0, x1, x2)", {distinct({3, 4}), given({-0.2}), given({0.3})},
              WICK_FN(clamp(x0, x1, x2)))
      .sample("torch.clamp(x0, 0.5, 1.5)", {x({6}, 0, 3)}, WICK_FN(clamp(x0, 0.5, 1.5)), kInts);
  row("clip", piecewise, kReal)
      .sample("torch.clip(x0, -0.53125, 0.53125)", {distinct({3, 4})},
              WICK_FN(clip(x0, -0.53125, 0.53125)));
  row("clamp_min", piecewise, kReal)
      .sample("torch.clamp_min(x0, 0.0625)", {distinct({3, 4})}, WICK_FN(clamp_min(x0, 0.0625)));
  row("clamp_max", piecewise, kReal)
      .sample("torch.clamp_max(x0, 0.0625)", {distinct({3, 4})}, WICK_FN(clamp_max(x0, 0.0625)));
  row("lerp", smooth, kReal)
      .sample("torch.lerp(x0, x1, 0.25)", {x({2, 3}), x({2, 3})}, WICK_FN(lerp(x0, x1, 0.25)))
      .sample("torch.lerp(x0, x1, 0.75)", {x({2, 3}), x({2, 3})}, WICK_FN(lerp(x0, x1, 0.75)))
      .sample("torch.lerp(x0, x1, x2)", {x({2, 3}), x({2, 3}), x({2, 3}, 0, 0.45)},
              WICK_FN(lerp(x0, x1, x2)));
  row("addcmul", smooth, kReal)
      .sample("torch.addcmul(x0, x1, x2, value=0.5)", {x({2, 3}), x({3}), x({2, 1})},
              WICK_FN(addcmul(x0, x1, x2, 0.5)));
  row("addcdiv", smooth, kReal)
      .sample("torch.addcdiv(x0, x1, x2, value=0.5)", {x({2, 3}), x({3}), off_zero({2, 1})},
              WICK_FN(addcdiv(x0, x1, x2, 0.5)));

  // -- nearness
  row("isclose", integer_output, kNumbers)
      .sample("torch.isclose(x0, x1, 0.1, 0.01)", {given({1, 2, 3, 0}), given({1, 3, 3, 0})},
              WICK_FN(isclose(x0, x1, 0.1, 0.01)))
      .sample("torch.isclose(x0, x1)",
              {given({kNan, kInf, -kInf, 1}), given({kNan, kInf, kInf, 1})},
              WICK_FN(isclose(x0, x1)), kReal)
      .sample("torch.isclose(x0, x1, equal_nan=True)", {given({kNan, kInf}), given({kNan, 1})},
              WICK_FN(isclose(x0, x1, 1e-5, 1e-8, true)), kReal);
  row("allclose", integer_output, kReal)
      .not_captured("answers on the host")
      .sample("torch.tensor(torch.allclose(x0, x0 + 1e-9))", {x({4})},
              WICK_FN(allclose(x0, x0 + 1e-9)))
      .sample("torch.tensor(torch.allclose(x0, x0 + 1))", {x({4})}, WICK_FN(allclose(x0, x0 + 1)));
  row("equal", integer_output, kReal)
      .not_captured("answers on the host")
      .sample("torch.tensor(torch.equal(x0, x0))", {x({4})}, WICK_FN(equal(x0, x0)))
      .sample("torch.tensor(torch.equal(x0, x1))", {x({4}), x({4})}, WICK_FN(equal(x0, x1)));

  // -- promotion: the dtype of the result is PyTorch's
  DTypeSet all = kAll;
  for (DType other : {DType::kF64, DType::kF32, DType::kF16, DType::kBF16, DType::kI64, DType::kI32,
                      DType::kI16, DType::kI8, DType::kU8, DType::kBool}) {
    In number = given({1}, Shape{});
    // of a narrower dtype than float64: differences are no measure
    if (is_float(other) && other != DType::kF64) number = number.no_grad();
    row((std::string("promotion with ") + dtype_name(other)).c_str(), smooth, all)
        .sample("x0 * x1", {given({1, 0}), of(other, given({1, 1}))}, WICK_FN(x0 * x1))
        .sample("x0 * x1", {given({1, 0}), of(other, given({1}, Shape{}))}, WICK_FN(x0 * x1))
        .sample("x0 * x1", {number, of(other, given({1, 1}))}, WICK_FN(x0 * x1))
        .sample("x0 * x1", {given({1}, Shape{}), of(other, given({1}, Shape{}))}, WICK_FN(x0 * x1));
  }
  row("promotion with numbers", smooth, kAll)
      .sample("x0 * 2", {given({1, 0})}, WICK_FN(x0 * 2))
      .sample("x0 * 2.0", {given({1, 0})}, WICK_FN(x0 * 2.0))
      .sample("x0 * True", {given({1, 0})}, WICK_FN(x0 * true))
      .sample("x0 * 2", {given({1}, Shape{})}, WICK_FN(x0 * 2))
      .sample("x0 * 2.0", {given({1}, Shape{})}, WICK_FN(x0 * 2.0));
  row("comparison with a number", integer_output, kAll)
      .sample("x0 == 0.5", {given({1, 0})}, WICK_FN(eq(x0, 0.5)));
  return row.all;
}

}  // namespace wick::test
