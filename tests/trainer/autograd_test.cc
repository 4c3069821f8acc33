// The tape and the engine.
#include <gtest/gtest.h>

#include "tests/support/error_of.h"
#include "wick/trainer.h"

namespace wick {
namespace {

using Floats = std::vector<float>;

using test::error_of;

TEST(Autograd, AccumulatesOverUsesAndCalls) {
  Tensor x = tensor({1.f, 2.f, 3.f}).requires_grad_();
  Tensor y = sum(x * x + x);
  y.backward();
  EXPECT_EQ(x.grad().to_vector<float>(), (Floats{3, 5, 7}));
  sum(x * 2).backward();
  EXPECT_EQ(x.grad().to_vector<float>(), (Floats{5, 7, 9}));
}

TEST(Autograd, LeafGradientsAreTheirOwnBytes) {
  Tensor a = ones({3}).requires_grad_(), b = ones({3}).requires_grad_();
  (a + b).backward(ones({3}));
  {
    NoGrad guard;
    a.grad().mul_(5);
  }
  EXPECT_EQ(b.grad().to_vector<float>(), (Floats{1, 1, 1}));
}

TEST(Autograd, ViewsCarryGradients) {
  Tensor x = arange(0, 6, 1, DType::kF32).reshape({2, 3}).requires_grad_();
  sum(x.t().slice(0, 0, 3, 2) * tensor({{1.f, 2.f}, {3.f, 4.f}})).backward();
  EXPECT_EQ(x.grad().to_vector<float>(), (Floats{1, 0, 3, 2, 0, 4}));
}

TEST(Autograd, NoGradAndDetachCutHistory) {
  Tensor x = ones({2}).requires_grad_();
  {
    NoGrad guard;
    EXPECT_FALSE((x * 2).requires_grad());
  }
  EXPECT_FALSE(x.detach().requires_grad());
  EXPECT_FALSE(gt(x, 0).requires_grad());
  sum(x * x.detach()).backward();
  EXPECT_EQ(x.grad().to_vector<float>(), (Floats{1, 1}));
}

TEST(Autograd, SecondBackwardNeedsRetainGraph) {
  Tensor x = ones({2}).requires_grad_();
  Tensor y = sum(x * x);
  y.backward(Tensor(), true);
  y.backward();
  EXPECT_EQ(x.grad().to_vector<float>(), (Floats{4, 4}));
  EXPECT_NE(error_of([&] { y.backward(); }).find("pass retain_graph = true"), std::string::npos);
}

TEST(Autograd, HigherOrders) {
  Tensor x = tensor({2.0}, DType::kF64).requires_grad_();
  Tensor d1 = grad({sum(pow(x, 4))}, {x}, {}, false, true)[0];
  Tensor d2 = grad({sum(d1)}, {x}, {}, false, true)[0];
  Tensor d3 = grad({sum(d2)}, {x})[0];
  EXPECT_NEAR(d1.item(), 32, 1e-12);
  EXPECT_NEAR(d2.item(), 48, 1e-12);
  EXPECT_NEAR(d3.item(), 48, 1e-12);
  EXPECT_FALSE(x.grad().defined());
  Tensor unused = ones({1}).requires_grad_();
  EXPECT_NE(error_of([&] { grad({sum(x * 2)}, {unused}); }).find("do not depend on input 0"),
            std::string::npos);
}

TEST(Autograd, AnInputAskedForTwiceIsGivenTwice) {
  Tensor x = tensor({2.f, 3.f}).requires_grad_();
  Tensor inner = x * 1;
  std::vector<Tensor> g = grad({sum(inner * inner)}, {x, inner, x, inner});
  ASSERT_EQ(g.size(), 4u);
  for (const Tensor& t : g) EXPECT_EQ(t.to_vector<float>(), (Floats{4, 6}));
}

TEST(Autograd, GradientThatIsAViewOfGradIsAddedAsItWas) {
  Tensor x = zeros({2, 2}).requires_grad_();
  (x + 0).backward(tensor({{1.f, 2.f}, {3.f, 4.f}}));
  x.view({2, 2}).backward(x.grad().t());
  EXPECT_EQ(x.grad().to_vector<float>(), (Floats{2, 5, 5, 8}));
}

TEST(Autograd, SavedTensorModifiedInPlaceIsFound) {
  Tensor x = ones({2}).requires_grad_(), w = ones({2}).named("w");
  Tensor y = sum(x * w);
  w.fill_(3);
  std::string text = error_of([&] { y.backward(); });
  EXPECT_NE(text.find("saved value 'w' [2] f32 at version 0; fill_ at"), std::string::npos) << text;
  EXPECT_NE(text.find("autograd_test.cc"), std::string::npos) << text;
}

TEST(Autograd, LongChainsNeedNoStack) {
  Tensor x = ones({1}).requires_grad_();
  Tensor y = x;
  for (int i = 0; i < 200000; ++i) y = y + 0;
  y.backward();
  EXPECT_EQ(x.grad().to_vector<float>(), (Floats{1}));
}

struct Log : Tracer {
  std::vector<std::string> lines;
  void on_call(const TracedCall& c) override {
    lines.push_back(std::string(find_op(c.op)->name) + " " + module_path());
  }
  void on_read(const Tensor&, const char* what, const Where& where) override {
    throw_error(what, "not while tracing", where);
  }
  Dim on_size(const Tensor& t, int dim, const Where&) override { return Dim(t.raw_shape()[dim]); }
  const DimShape& on_shape(const Tensor& t, const Where&) override {
    return as_dims(t.raw_shape());
  }
  void on_write(const Tensor&, const Tensor&, const char* what, const Where& where) override {
    throw_error(what, "not while tracing", where);
  }
  void on_reshape(const Tensor&, const Tensor&, const Tensor&, const char* what,
                  const Where& where) override {
    throw_error(what, "not while tracing", where);
  }
};

TEST(Autograd, TracerSeesCallsReadsAndPaths) {
  manual_seed(1);
  auto model = nn::lenet();
  model->eval();
  Log log;
  Tensor y;
  {
    TracerScope scope(&log);
    y = (*model)(zeros({1, 1, 28, 28}));
    EXPECT_NE(
        error_of([&] { y.select(1, 0).item(); }).find("[item] not while tracing (autograd_test.cc"),
        std::string::npos);
    EXPECT_THROW(y.fill_(0), Error);
    EXPECT_THROW(y.t_(), Error);
    EXPECT_EQ(y.raw_shape(), (Shape{1, 10}));
  }
  std::vector<std::string> expected = {"Conv 0",    "Relu 1",    "MaxPool 2", "Conv 3", "Relu 4",
                                       "MaxPool 5", "Flatten 6", "Linear 7",  "Relu 8", "Linear 9",
                                       "Slice ",    "Squeeze ",  "Transpose "};
  EXPECT_EQ(log.lines, expected);
}

}  // namespace
}  // namespace wick
