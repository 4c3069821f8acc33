#include "tests/trainer/gradcheck_samples.h"

namespace wick::gradchecks {
namespace {

// Some elements 0, the others not.
Tensor some_zeros() { return tensor({{0., 0.5, -0.7}, {0.3, 0., 0.}}, DType::kF64); }

void add_products(Samples& all) {
  auto add = [&](const char* name, Fn f, List in) {
    all.push_back({name, std::move(f), std::move(in), Second::kYes});
  };
  const std::vector<Tensor> lines = {tensor({{2., 0., 3.}, {4., 5., 6.}}, DType::kF64),
                                     tensor({{0., 0., 3.}, {0., 5., 6.}}, DType::kF64),
                                     tensor({{0., 0., 0.}, {1., 0., 2.}}, DType::kF64),
                                     tensor({{0.}, {3.}}, DType::kF64)};
  for (const Tensor& x : lines) {
    for (int64_t keep : {0, 1}) {
      add("ReduceProd zeros", row(OpId::kReduceProd, ReduceAttrs{{1}, keep, 0}), {x});
      add("ReduceProd zeros", row(OpId::kReduceProd, ReduceAttrs{{0}, keep, 0}), {x});
      add("ReduceProd zeros", row(OpId::kReduceProd, ReduceAttrs{{}, keep, 0}), {x});
    }
    for (int64_t exclusive : {0, 1}) {
      for (int64_t axis : {0, 1})
        add("CumProd zeros", row(OpId::kCumProd, CumulateAttrs{axis, exclusive, exclusive}), {x});
    }
  }
  Tensor cube =
      tensor({1., 0., 2., 3., 0., 4., 5., 0., 6., 7., 8., 9.}, DType::kF64).reshape({2, 3, 2});
  for (const DimList& axes : {DimList{{0, 2}}, DimList{{2, 0}}, DimList{{1}}, DimList{{0, 1, 2}}})
    add("ReduceProd zeros", row(OpId::kReduceProd, ReduceAttrs{axes, 0, 0}), {cube});
  // one zero, two and three at one place, a zero below them, a place without any
  add("ScatterElements zeros", row(OpId::kScatterElements, ScatterAttrs{0, 2}),
      {tensor({2., 3., 0., 5.}, DType::kF64), ints({0, 1, 1, 2, 2, 0, 1}, {7}),
       tensor({0., 0., 4., 0., 3., 0., 0.}, DType::kF64)});
  add("ScatterElements zeros", row(OpId::kScatterElements, ScatterAttrs{1, 2}),
      {tensor({{2., 0., 4.}, {5., 6., 7.}}, DType::kF64), ints({0, -1, 0, 1, 1, 1}, {2, 3}),
       tensor({{0., 5., 3.}, {0., 2., 0.}}, DType::kF64)});
  add("ScatterND zeros", row(OpId::kScatterND, ScatterNDAttrs{2}),
      {tensor({{1., 2.}, {3., 0.}, {5., 6.}}, DType::kF64), ints({2, 0, 2, -1}, {4, 1}),
       tensor({{0., 1.}, {2., 3.}, {4., 0.}, {5., 0.}}, DType::kF64)});
  // rank 2, rank 1 and rank 0: the cofactors of the last two have no inverse to come from
  add("Det zeros", row(OpId::kDet, NoAttrs{}),
      {tensor({{1., 2., 3.}, {2., 4., 6.}, {1., 0., 1.}}, DType::kF64)});
  add("Det zeros", row(OpId::kDet, NoAttrs{}),
      {tensor({{1., 2., 3.}, {2., 4., 6.}, {-1., -2., -3.}}, DType::kF64)});
  add("Det zeros", row(OpId::kDet, NoAttrs{}), {zeros({2, 2}, kD)});
  add("Det zeros", row(OpId::kDet, NoAttrs{}),
      {tensor({1., 2., 2., 4., 1., 2., 3., 4.}, DType::kF64).reshape({2, 2, 2})});
  for (const char* name : {"Add", "Sub", "Mul"})
    all.push_back({std::string(name) + " zeros",
                   row(find_op(name)->id, NoAttrs{}),
                   {some_zeros(), tensor({0., 0., 2.}, DType::kF64)}});
  add("Div zeros", row(OpId::kDiv, NoAttrs{}), {some_zeros(), tensor({1., -2., 0.5}, DType::kF64)});
  add("MatMul zeros", row(OpId::kMatMul, NoAttrs{}), {some_zeros(), zeros({3, 2}, kD)});
}

}  // namespace

void add_zero_samples(Samples& all) {
  auto add = [&](const char* name, Fn f, List in) {
    all.push_back({name, std::move(f), std::move(in), Second::kYes});
  };
  add_products(all);
  for (const char* name : {"Identity", "Sigmoid", "Tanh", "Silu", "Softplus", "Exp",   "Erf",
                           "Sin",      "Cos",     "Tan",  "Atan", "Erfc",     "Expm1", "Sinh",
                           "Cosh",     "Asinh",   "Neg",  "Asin", "Acos",     "Atanh", "Log1p"}) {
    all.push_back(
        {std::string(name) + " zeros", row(find_op(name)->id, NoAttrs{}), {some_zeros()}});
  }
  add("Gelu zeros", row(OpId::kGelu, GeluAttrs{0}), {some_zeros()});
  add("Gelu zeros", row(OpId::kGelu, GeluAttrs{1}), {some_zeros()});
  add("HardSwish zeros", row(OpId::kHardSwish, NoAttrs{}), {some_zeros()});
  // One zero of two is no kink.
  add("Atan2 zeros", row(OpId::kAtan2, NoAttrs{}),
      {tensor({0., 1., -1., 0.}, DType::kF64), tensor({2., 0., 0., 3.}, DType::kF64)});
  // Whole powers, differentiated by the base alone: the logarithm of 0 is not needed.
  for (double p : {0., 1., 2., 3.}) {
    add("Pow zeros",
        [p](const List& in) {
          return row(OpId::kPow, NoAttrs{})({in[0], full({}, p, kD)});
        },
        {some_zeros()});
  }
  // Differentiated by both at an exponent of 0: constant in the base, while the slope grows with
  // the exponent.
  add("Pow zeros", row(OpId::kPow, NoAttrs{}),
      {tensor({2., 0.5, 3.}, DType::kF64), tensor({0., 0., 2.}, DType::kF64)});
  add("Pow zeros", row(OpId::kPow, NoAttrs{}),
      {tensor({{2.}, {0.25}}, DType::kF64), zeros({3}, kD)});
  // The functions that have a case of their own at 0.
  add("Mul sinc", [](const List& in) { return List{sinc(in[0])}; }, {some_zeros()});
  add("Mul sinc", [](const List& in) { return List{sinc(in[0])}; },
      {tensor({1e-300, -1e-9, 1e-5, 1e-3, 0.05, -0.099, 0.101, 40.}, DType::kF64)});
  add("Mul square", [](const List& in) { return List{square(in[0])}; }, {some_zeros()});
  add("Log xlogy", [](const List& in) { return List{xlogy(in[0], in[1])}; },
      {some_zeros(), tensor({0.5, 1., 2.}, DType::kF64)});
  add("Sqrt hypot", [](const List& in) { return List{hypot(in[0], in[1])}; },
      {tensor({0., 1., -1.}, DType::kF64), tensor({2., 0., 0.}, DType::kF64)});
  add("Exp logaddexp", [](const List& in) { return List{logaddexp(in[0], in[1])}; },
      {some_zeros(), some_zeros()});
  add("Softplus logsigmoid", [](const List& in) { return List{logsigmoid(in[0])}; },
      {some_zeros()});
  add("Tanh mish", [](const List& in) { return List{mish(in[0])}; }, {some_zeros()});
  add("Tanh tanhshrink", [](const List& in) { return List{tanhshrink(in[0])}; }, {some_zeros()});
  add("Pow square", [](const List& in) { return List{pow(in[0], 2)}; }, {some_zeros()});
  add("Pow cube", [](const List& in) { return List{pow(in[0], 3)}; }, {some_zeros()});
  add("Log logcumsumexp", [](const List& in) { return List{logcumsumexp(in[0], 1)}; },
      {some_zeros()});
  add("ReduceMean var", [](const List& in) { return List{var(in[0], {1})}; },
      {tensor({{0., 0., 1.}, {2., 2., 2.}}, DType::kF64)});
  add("Sqrt vector_norm", [](const List& in) { return List{linalg::vector_norm(in[0], 2, {1})}; },
      {some_zeros()});
  add("Pow vector_norm", [](const List& in) { return List{linalg::vector_norm(in[0], 4, {1})}; },
      {some_zeros()});
  add("Mul cross", [](const List& in) { return List{linalg::cross(in[0], in[1])}; },
      {some_zeros(), zeros({2, 3}, kD)});
  add("MatMul power", [](const List& in) { return List{linalg::matrix_power(in[0], 3)}; },
      {tensor({{0., 1.}, {0., 0.}}, DType::kF64)});
  add("MatMul einsum",
      [](const List& in) {
        return List{einsum("ij,ij->i", {in[0], in[1]})};
      },
      {some_zeros(), zeros({2, 3}, kD)});
  add("ReduceProd columns",
      [](const List& in) {
        return List{cumprod(in[0], 0), prod(in[0], {1})};
      },
      {some_zeros()});
  add("ScatterElements prod",
      [](const List& in) {
        Tensor at = ints({0, 0, 2, 1, 1, 1}, {2, 3});
        return List{scatter_reduce(in[0], 1, at, in[1], "prod"),
                    scatter_reduce(in[0], 1, at, in[1], "prod", false)};
      },
      {some_zeros(), some_zeros()});
}

}  // namespace wick::gradchecks
