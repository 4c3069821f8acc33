// Functions with a gradient of their own, and straight-through estimators.
#include <gtest/gtest.h>

#include "tests/support/error_of.h"
#include "wick/trainer.h"

namespace wick {
namespace {

using Floats = std::vector<float>;

using test::error_of;

struct MyRelu : Function<MyRelu> {
  static Tensor forward(AutogradContext& ctx, const Tensor& x, double slope) {
    ctx.save_for_backward({x});
    ctx.saved_data["slope"] = slope;
    return where(gt(x, 0), x, x * slope);
  }
  static variable_list backward(AutogradContext& ctx, const variable_list& g) {
    Tensor x = ctx.get_saved_variables()[0];
    double slope = std::any_cast<double>(ctx.saved_data["slope"]);
    return {where(gt(x, 0), g[0], g[0] * slope), Tensor()};
  }
};

// Saves its output; differentiable twice because backward is made of ops.
struct MySigmoid : Function<MySigmoid> {
  static Tensor forward(AutogradContext& ctx, const Tensor& x) {
    Tensor y = 1 / (1 + exp(-x));
    ctx.save_for_backward({y});
    return y;
  }
  static variable_list backward(AutogradContext& ctx, const variable_list& g) {
    Tensor y = ctx.get_saved_variables()[0];
    return {g[0] * y * (1 - y)};
  }
};

// Two outputs; the second is not differentiable.
struct MaxWithIndex : Function<MaxWithIndex> {
  static variable_list forward(AutogradContext& ctx, const Tensor& a, const Tensor& b) {
    Tensor which = gt(a, b).to(DType::kF64);
    ctx.save_for_backward({which});
    ctx.mark_non_differentiable({which});
    return {maximum(a, b), which};
  }
  static variable_list backward(AutogradContext& ctx, const variable_list& g) {
    Tensor which = ctx.get_saved_variables()[0];
    return {g[0] * which, ctx.needs_input_grad(1) ? g[0] * (1 - which) : Tensor()};
  }
};

struct Double_ : Function<Double_> {
  static Tensor forward(AutogradContext& ctx, const Tensor& x) {
    x.mul_(2);
    ctx.mark_dirty({x});
    return x;
  }
  static variable_list backward(AutogradContext&, const variable_list& g) { return {g[0] * 2}; }
};

struct Once : Function<Once> {
  static constexpr bool once_differentiable = true;
  static Tensor forward(AutogradContext& ctx, const Tensor& x) {
    ctx.save_for_backward({x});
    return x * x;
  }
  static variable_list backward(AutogradContext& ctx, const variable_list& g) {
    return {g[0] * ctx.get_saved_variables()[0] * 2};
  }
};

struct Wrong : Function<Wrong> {
  static Tensor forward(AutogradContext&, const Tensor& x, const Tensor&) { return x * 2; }
  static variable_list backward(AutogradContext&, const variable_list& g) { return {g[0]}; }
};

struct Pair : Function<Pair> {
  static variable_list forward(AutogradContext& ctx, const variable_list& xs) {
    ctx.set_materialize_grads(false);
    return {xs[0] * 2, xs[1] * 3};
  }
  static variable_list backward(AutogradContext&, const variable_list& g) {
    return {g[0].defined() ? g[0] * 2 : Tensor(), g[1].defined() ? g[1] * 3 : Tensor()};
  }
};

TEST(Function, MyReluAgainstFiniteDifferences) {
  Tensor x = tensor({-2.0, -0.5, 0.25, 3.0}, DType::kF64);
  auto f = [](const std::vector<Tensor>& in) {
    return std::vector<Tensor>{MyRelu::apply(in[0], 0.1)};
  };
  GradcheckOptions o;
  o.second_order = true;
  GradcheckResult r = gradcheck(f, {x}, o);
  EXPECT_TRUE(r.ok) << r.message;
  Tensor y = MyRelu::apply(x.requires_grad_(), 0.1);
  EXPECT_EQ(y.grad_fn().name(), "MyReluBackward");
  NoGrad guard;
  EXPECT_FALSE(MyRelu::apply(x, 0.1).requires_grad());
}

TEST(Function, SavedOutputIsDifferentiableAgain) {
  Tensor x = tensor({-1.0, 0.3, 2.0}, DType::kF64).requires_grad_();
  Tensor d = grad({sum(MySigmoid::apply(x))}, {x}, {}, false, true)[0];
  Tensor d2 = grad({sum(d)}, {x}, {}, false, true)[0];
  Tensor e = grad({sum(sigmoid(x))}, {x}, {}, false, true)[0];
  Tensor e2 = grad({sum(e)}, {x}, {}, false, true)[0];
  Tensor d3 = grad({sum(d2)}, {x})[0], e3 = grad({sum(e2)}, {x})[0];
  for (int i = 0; i < 3; ++i) {
    EXPECT_NEAR(d2.to_vector<double>()[i], e2.to_vector<double>()[i], 1e-14);
    EXPECT_NEAR(d3.to_vector<double>()[i], e3.to_vector<double>()[i], 1e-14);
  }
}

TEST(Function, NonDifferentiableOutputsAndUnwantedInputs) {
  Tensor a = tensor({1.0, 5.0}, DType::kF64).requires_grad_(), b = tensor({2.0, 3.0}, DType::kF64);
  variable_list y = MaxWithIndex::apply(a, b);
  EXPECT_TRUE(y[0].requires_grad());
  EXPECT_FALSE(y[1].requires_grad());
  sum(y[0]).backward();
  EXPECT_EQ(a.grad().to_vector<double>(), (std::vector<double>{0, 1}));
}

TEST(Function, DirtyInputsAreRebased) {
  Tensor x = tensor({1.f, 2.f}).requires_grad_();
  Tensor h = x * 3, kept = h * h;
  Tensor y = Double_::apply(h);
  EXPECT_TRUE(y.is_same(h));
  EXPECT_EQ(h.grad_fn().name(), "Double_Backward");
  sum(h).backward();
  EXPECT_EQ(x.grad().to_vector<float>(), (Floats{6, 6}));
  EXPECT_NE(error_of([&] { sum(kept).backward(); }).find("saved the value made at"),
            std::string::npos);
  EXPECT_NE(error_of([&] { Double_::apply(x); }).find("leaf"), std::string::npos);
}

TEST(Function, SavedTensorsAreChecked) {
  Tensor x = tensor({1.0, 2.0}, DType::kF64).requires_grad_(), h = x * 2;
  Tensor y = sum(MyRelu::apply(h, 0.5));
  h.add_(ones({2}, DType::kF64));
  EXPECT_NE(error_of([&] { y.backward(); }).find("add_ at function_test.cc:"), std::string::npos);
  Tensor z = sum(MyRelu::apply(x, 0.5));
  z.backward();
  EXPECT_NE(error_of([&] { z.backward(); }).find("second time"), std::string::npos);
}

TEST(Function, OnceDifferentiableRefusesASecondTime) {
  Tensor x = tensor({3.0}, DType::kF64).requires_grad_();
  Tensor d = grad({Once::apply(x)}, {x}, {}, false, true)[0];
  EXPECT_EQ(d.item(), 6);
  EXPECT_NE(error_of([&] { grad({d}, {x}); }).find("once_differentiable"), std::string::npos);
}

TEST(Function, ListsUndefinedGradientsAndWrongCounts) {
  Tensor a = tensor({1.f}).requires_grad_(), b = tensor({1.f}).requires_grad_();
  variable_list y = Pair::apply(variable_list{a, b});
  sum(y[1]).backward();
  EXPECT_FALSE(a.grad().defined());
  EXPECT_EQ(b.grad().to_vector<float>(), (Floats{3}));
  EXPECT_NE(error_of([&] { sum(Wrong::apply(a, b)).backward(); }).find("expected 2, got 1"),
            std::string::npos);
}

TEST(Gradcheck, OptionsFindWhatTheyAreFor) {
  Tensor x = tensor({0.3, -0.7, 1.1}, DType::kF64);
  GradcheckOptions o;
  o.non_contiguous = true;
  auto fine = [](const std::vector<Tensor>& in) { return std::vector<Tensor>{sin(in[0]) * in[0]}; };
  GradcheckResult r = gradgradcheck(fine, {x}, o);
  EXPECT_TRUE(r.ok) << r.message;
  // Right where the input is contiguous only.
  auto strides = [](const std::vector<Tensor>& in) {
    return std::vector<Tensor>{in[0].is_contiguous() ? in[0] * 2 : in[0] * 2 + in[0].detach()};
  };
  r = gradcheck(strides, {x}, o);
  EXPECT_FALSE(r.ok);
  EXPECT_NE(r.message.find("non-contiguous inputs: input 0, element 0"), std::string::npos)
      << r.message;
  int calls = 0;
  auto drifts = [&](const std::vector<Tensor>& in) {
    Tensor y = in[0] * 2;
    if (y.requires_grad()) y.register_hook([&](const Tensor& g) { return g * (1 + ++calls); });
    return std::vector<Tensor>{y};
  };
  EXPECT_NE(gradcheck(drifts, {x}).message.find("not deterministic"), std::string::npos);
  o.raise_exception = true;
  EXPECT_THROW(static_cast<void>(gradcheck(strides, {x}, o)), Error);
  // A function may return one tensor.
  const auto cube = [](const std::vector<Tensor>& in) { return in[0] * in[0] * in[0]; };
  EXPECT_TRUE(gradcheck(cube, {x}).ok);
  EXPECT_TRUE(gradgradcheck(cube, {x}).ok);
}

TEST(StraightThrough, RoundPassesTheGradient) {
  Tensor x = tensor({0.4f, 1.5f, -2.7f}).requires_grad_();
  Tensor y = round_ste(x);
  EXPECT_EQ(y.to_vector<float>(), (Floats{0, 2, -3}));
  sum(y * tensor({1.f, 2.f, 3.f})).backward();
  EXPECT_EQ(x.grad().to_vector<float>(), (Floats{1, 2, 3}));
  EXPECT_THROW(straight_through(ones({2}), x), Error);
}

TEST(StraightThrough, FakeQuantizeMasksWhatWasClamped) {
  Tensor x = tensor({-1.f, 0.12f, 0.26f, 9.f}).requires_grad_();
  Tensor y = fake_quantize_per_tensor_affine(x, 0.1, 2, 0, 15);
  Floats want = {-0.2f, 0.1f, 0.3f, 1.3f}, got = y.to_vector<float>();
  for (size_t i = 0; i < 4; ++i) EXPECT_FLOAT_EQ(got[i], want[i]);
  sum(y).backward();
  EXPECT_EQ(x.grad().to_vector<float>(), (Floats{0, 1, 1, 0}));
}

}  // namespace
}  // namespace wick
