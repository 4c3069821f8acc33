#include "tests/trainer/gradcheck_samples.h"

namespace wick::gradchecks {

Tensor random(const Shape& shape, double lo, double hi) {
  static Generator g{7, 0};
  return uniform(shape, lo, hi, kD, g);
}
Tensor distinct(const Shape& shape) {
  static Generator g{8, 0};
  int64_t n = numel(shape);
  Tensor t = (randperm(n, g).to(kD) - (0.5 * static_cast<double>(n) - 0.25)) * 0.05;
  return t.reshape(shape);
}
Tensor ints(std::initializer_list<int64_t> v, const Shape& s) { return tensor(v).reshape(s); }

namespace {

// Away from 0 by 0.1 at least.
Tensor off_zero(const Shape& shape) {
  Tensor t = random(shape);
  return t + sign(t) * 0.1;
}

}  // namespace

void add_elementwise_samples(Samples& all) {
  auto add = [&](const char* name, Fn f, List in, Second second = Second::kYes) {
    all.push_back({name, std::move(f), std::move(in), second});
  };
  auto unary = [&](const char* name, double lo, double hi) {
    const OpInfo* info = find_op(name);
    all.push_back({name, row(info->id, NoAttrs{}), {random({2, 3}, lo, hi)}});
  };
  for (const char* name : {"Identity", "Sigmoid", "Tanh", "Silu", "Softplus", "Exp", "Erf", "Sin",
                           "Cos", "Tan", "Atan", "Erfc", "Expm1", "Sinh", "Cosh", "Asinh", "Neg"}) {
    unary(name, -1, 1);
  }
  for (const char* name : {"Log", "Log1p", "Log2", "Log10", "Sqrt", "Reciprocal"})
    unary(name, 0.5, 2);
  for (const char* name : {"Asin", "Acos", "Atanh"}) unary(name, -0.8, 0.8);
  unary("Acosh", 1.5, 3);
  for (const char* name : {"Floor", "Ceil", "Round", "Sign"}) {
    // constant around 0.2 .. 0.4
    all.push_back({name,
                   row(find_op(name)->id, NoAttrs{}),
                   {random({2, 3}, 0.2, 0.4)},
                   Second::kPiecewiseConstant});
  }
  add("Relu", row(OpId::kRelu, NoAttrs{}), {off_zero({3, 4})});
  add("Abs", row(OpId::kAbs, NoAttrs{}), {off_zero({3, 4})});
  add("LeakyRelu", row(OpId::kLeakyRelu, LeakyReluAttrs{0.2}), {off_zero({3, 4})});
  add("PRelu", row(OpId::kPRelu, NoAttrs{}), {off_zero({2, 3, 4}), random({3, 1})});
  add("PRelu one slope", row(OpId::kPRelu, NoAttrs{}), {off_zero({3, 4}), random({})});
  add("Elu", row(OpId::kElu, EluAttrs{0.7}), {off_zero({3, 4})});
  add("Gelu erf", row(OpId::kGelu, GeluAttrs{0}), {random({3, 4}, -2, 2)});
  add("Gelu tanh", row(OpId::kGelu, GeluAttrs{1}), {random({3, 4}, -2, 2)});
  add("HardSwish", row(OpId::kHardSwish, NoAttrs{}),
      {tensor({-4., -2., -0.5, 0.5, 2., 4.}, DType::kF64)});
  add("HardSigmoid", row(OpId::kHardSigmoid, HardSigmoidAttrs{}),
      {tensor({-4., -2., -0.5, 0.5, 2., 4.}, DType::kF64)});
  add("Clip", row(OpId::kClip, ClipAttrs{-0.5, 0.5}),
      {tensor({-0.9, -0.3, 0.1, 0.45, 0.7}, DType::kF64)});
  add(
      "Cast", [](const List& in) { return List{in[0].to(DType::kF32).to(kD)}; },
      {tensor({0.5, -0.25}, DType::kF64)}, Second::kThroughFloat32);

  for (const char* name : {"Add", "Sub", "Mul"}) {
    all.push_back({name, row(find_op(name)->id, NoAttrs{}), {random({2, 1, 3}), random({4, 1})}});
  }
  add("Div", row(OpId::kDiv, NoAttrs{}), {random({2, 3}), random({3}, 0.5, 2)});
  add("Pow", row(OpId::kPow, NoAttrs{}), {random({2, 3}, 0.5, 2), random({3}, -2, 2)});
  // quotients away from whole numbers
  for (int64_t fmod : {0, 1}) {
    add(fmod != 0 ? "Mod fmod" : "Mod", row(OpId::kMod, ModAttrs{fmod}),
        {tensor({2.5, -2.5, 7.25, -1.0}, DType::kF64),
         tensor({1.0, 1.0, -2.0, -3.0}, DType::kF64)});
  }
  add("Atan2", row(OpId::kAtan2, NoAttrs{}), {off_zero({2, 3}), off_zero({3})});
  add("Max", row(OpId::kMax, NoAttrs{}), {distinct({2, 3}), random({1, 3}, 0.011, 0.014)});
  add("Min", row(OpId::kMin, NoAttrs{}), {distinct({2, 3}), random({1, 3}, 0.011, 0.014)});
  add("Where", row(OpId::kWhere, NoAttrs{}),
      {gt(distinct({2, 3}), 0), random({2, 3}), random({3})});
}

}  // namespace wick::gradchecks
