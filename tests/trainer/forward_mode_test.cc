// Forward mode and the derivatives of functions made of it.
#include <gtest/gtest.h>

#include <cmath>

#include "wick/trainer.h"

namespace wick {
namespace {

using Doubles = std::vector<double>;

void expect_near(const Tensor& a, const Tensor& b, double tolerance = 1e-12) {
  ASSERT_TRUE(a.defined() && b.defined());
  ASSERT_TRUE(a.raw_shape() == b.raw_shape())
      << to_text(a.raw_shape()).text << to_text(b.raw_shape()).text;
  Doubles x = a.to_vector<double>(), y = b.to_vector<double>();
  for (size_t i = 0; i < x.size(); ++i) {
    EXPECT_NEAR(x[i], y[i], tolerance * std::max(1.0, std::fabs(y[i]))) << i;
  }
}

// Two inputs, two outputs; views, broadcasting, saved outputs, a reduction, a constant.
std::vector<Tensor> sample(const std::vector<Tensor>& in) {
  const Tensor &x = in[0], &w = in[1];
  Tensor h = tanh(matmul(x, w.t()) + 1) / (2 + exp(w.sum()));
  return {sigmoid(h).slice(1, 0, 2) * h.select(1, 2).unsqueeze(1),
          softmax(x, 1).permute({1, 0}) * floor(x).t() + sqrt(x * x + 1).t()};
}
std::vector<Tensor> inputs() {
  manual_seed(2);
  return {randn({2, 3}, DType::kF64), randn({4, 3}, DType::kF64)};
}
std::vector<Tensor> directions() {
  manual_seed(9);
  return {randn({2, 3}, DType::kF64), randn({4, 3}, DType::kF64)};
}
Tensor scalar(const std::vector<Tensor>& in) {
  auto y = sample(in);
  return sum(y[0] * y[0]) + sum(exp(y[1] * 0.3));
}
std::vector<Tensor> scalar_list(const std::vector<Tensor>& in) { return {scalar(in)}; }

// out.shape + in.shape times v, summed over the input's dims.
Tensor contract(const Tensor& j, const Tensor& v, const Shape& out) {
  int64_t n = v.raw().numel();
  return matmul(j.reshape({-1, n}), v.reshape({n, 1})).reshape(out);
}

TEST(ForwardMode, JvpIsTheJacobianTimesV) {
  auto x = inputs(), v = directions();
  auto [y, jv] = jvp(sample, x, v);
  auto j = jacobian(sample, x);
  for (size_t k = 0; k < 2; ++k) {
    Tensor want =
        contract(j[k][0], v[0], y[k].raw_shape()) + contract(j[k][1], v[1], y[k].raw_shape());
    expect_near(jv[k], want);
    EXPECT_EQ(y[k].to_vector<double>(), sample(x)[k].to_vector<double>());
    EXPECT_FALSE(jv[k].requires_grad());
  }
  // <u, J v> == <v, J^T u>
  std::vector<Tensor> u = {cos(y[0]), sin(y[1])};
  auto [same, ju] = vjp(sample, x, u);
  double left = 0, right = 0;
  for (size_t k = 0; k < 2; ++k) {
    left += (u[k] * jv[k]).sum().item();
    right += (ju[k] * v[k]).sum().item();
  }
  EXPECT_NEAR(left, right, 1e-12);
}

TEST(ForwardMode, NonDifferentiableOpsGiveZeroAndConstantsNone) {
  DualLevel level;
  Tensor x = make_dual(tensor({1.5, -2.5}, DType::kF64), tensor({1.0, 1.0}, DType::kF64));
  EXPECT_FALSE(unpack_dual(gt(x, 0)).tangent.defined());
  EXPECT_FALSE(unpack_dual(floor(x)).tangent.defined());
  EXPECT_FALSE(unpack_dual(x.detach() * 2).tangent.defined());
  EXPECT_EQ(unpack_dual(x.reshape({2, 1}).t() * 3).tangent.to_vector<double>(), (Doubles{3, 3}));
  EXPECT_THROW(DualLevel(), Error);
}

TEST(ForwardMode, TangentsDieWithTheirTensorsAndWithTheLevel) {
  Tensor x = tensor({2.0}, DType::kF64);
  Tensor y;
  {
    DualLevel level;
    y = make_dual(x, tensor({1.0}, DType::kF64)) * 3;
  }
  DualLevel another;
  Tensor z = y * 5;
  EXPECT_FALSE(unpack_dual(z).tangent.defined());
  EXPECT_THROW(make_dual(x, tensor({1.f})), Error);
}

TEST(ForwardMode, WritesInPlaceCarryTangents) {
  DualLevel level;
  Tensor x = make_dual(tensor({1.0, 2.0}, DType::kF64), tensor({1.0, 10.0}, DType::kF64));
  Tensor h = x * 2;
  h.mul_(x);  // 2 x^2
  EXPECT_EQ(unpack_dual(h).tangent.to_vector<double>(), (Doubles{4, 80}));
  h.zero_();
  EXPECT_EQ(h.to_vector<double>(), (Doubles{0, 0}));
  Tensor t = unpack_dual(h).tangent;
  EXPECT_TRUE(!t.defined() || t.to_vector<double>() == (Doubles{0, 0}));
}

struct Cube : Function<Cube> {
  static Tensor forward(AutogradContext& ctx, const Tensor& x) {
    ctx.save_for_backward({x});
    return x * x * x;
  }
  static variable_list backward(AutogradContext& ctx, const variable_list& g) {
    Tensor x = ctx.get_saved_variables()[0];
    return {g[0] * x * x * 3};
  }
};

TEST(ForwardMode, CustomFunctionsAndStraightThrough) {
  auto f = [](const std::vector<Tensor>& in) {
    return std::vector<Tensor>{Cube::apply(in[0]) + round_ste(in[0]) * 100};
  };
  auto [y, t] = jvp(f, {tensor({2.0}, DType::kF64)}, {tensor({1.0}, DType::kF64)});
  EXPECT_EQ(t[0].item(), 12 + 100);
  auto [value, hv] = hvp([&](const std::vector<Tensor>& in) { return f(in); },
                         {tensor({2.0}, DType::kF64)}, {tensor({1.0}, DType::kF64)});
  EXPECT_EQ(hv[0].item(), 12);
}

TEST(Functional, HessianHvpAndVhpAgree) {
  auto x = inputs(), v = directions();
  auto h = hessian(scalar_list, x);
  auto [y, hv] = hvp(scalar_list, x, v);
  auto [y2, vh] = vhp(scalar_list, x, v);
  EXPECT_EQ(y[0].item(), scalar(x).item());
  for (size_t i = 0; i < 2; ++i) {
    Tensor want =
        contract(h[i][0], v[0], x[i].raw_shape()) + contract(h[i][1], v[1], x[i].raw_shape());
    expect_near(hv[i], want);
    expect_near(vh[i], want);
  }
  expect_near(h[0][1].reshape({6, 12}), h[1][0].reshape({12, 6}).t().contiguous());
}

TEST(Functional, CreateGraphAndStrict) {
  Tensor x = tensor({0.5}, DType::kF64).requires_grad_();
  auto cube = [](const std::vector<Tensor>& in) {
    return std::vector<Tensor>{in[0] * in[0] * in[0]};
  };
  FunctionalOptions o;
  o.create_graph = true;
  Tensor j = jvp(cube, {x}, {tensor({1.0}, DType::kF64)}, o).second[0];
  EXPECT_NEAR(grad({sum(j)}, {x})[0].item(), 3.0, 1e-12);  // 6 x
  Tensor h = hessian(cube, {x}, o)[0][0];
  EXPECT_NEAR(grad({sum(h)}, {x})[0].item(), 6.0, 1e-12);
  FunctionalOptions strict;
  strict.strict = true;
  auto constant = [](const std::vector<Tensor>& in) { return std::vector<Tensor>{in[1] * 2}; };
  std::vector<Tensor> two = {tensor({1.0}, DType::kF64), tensor({1.0}, DType::kF64)};
  EXPECT_THROW(jacobian(constant, two, strict), Error);
  EXPECT_EQ(jacobian(constant, two)[0][0].to_vector<double>(), (Doubles{0}));
}

}  // namespace
}  // namespace wick
