// Anomaly mode: finds the op that made the first NaN or inf, forward or backward.
#include <gtest/gtest.h>

#include <cmath>

#include "tests/support/error_of.h"
#include "trainer/explain/anomaly.h"
#include "trainer/nn/layers.h"
#include "trainer/tensor/ops.h"

namespace wick {
namespace {

using test::error_of;

TEST(Anomaly, ForwardNamesOpLineAndRanges) {
  Tensor x = tensor({0.5F, -1.F, 0.F}).named("x");
  std::string text = error_of([&] {
    AnomalyMode guard;
    Tensor y = x + 1.0;
#line 41 "train.cpp"
    Tensor z = log(x);
#line 23 "anomaly_test.cc"
    Tensor w = z * 2.0;
  });
  EXPECT_EQ(text,
            "[log] made 1 nan and 1 -inf of 3, the rest in [-0.6931, -0.6931] (first: nan at [1]) "
            "from finite values: input 0 'x' float32[3] in [-1, 0.5]. log needs values above 0: "
            "clamp them, e.g. log(x + 1e-8), or take log_softmax instead of log(softmax) "
            "(train.cpp:41)");
}

// Their kernels write over the operand, whose former numbers are to be told.
TEST(Anomaly, InPlaceOpsWithoutAHistoryAreSeen) {
  using Write = void (*)(const Tensor&);
  const std::pair<const char*, Write> writes[] = {
      {"[div] made 2 inf of 2", [](const Tensor& x) { x.div_(0); }},
      {"[div] made 2 inf of 2", [](const Tensor& x) { x.div_(zeros({2})); }},
      {"[mul] made 2 inf of 2", [](const Tensor& x) { x.mul_(full({2}, 2e38)).mul_(10); }},
      {"[add] made 2 inf of 2", [](const Tensor& x) { x.mul_(1e38).add_(full({2}, 3e38)); }},
      {"[sub] made 2 -inf of 2", [](const Tensor& x) { x.mul_(-1e38).sub_(full({2}, 3e38)); }},
  };
  for (const auto& [told, write] : writes) {
    Tensor x = tensor({1.F, 1.5F}).named("x");
    const std::string text = error_of([&] {
      AnomalyMode guard;
      NoGrad no_grad;
      write(x);
    });
    EXPECT_EQ(text.substr(0, std::string(told).size()), told) << text;
    EXPECT_NE(text.find("anomaly_test.cc:"), std::string::npos) << text;
    EXPECT_TRUE(isfinite(x).all().item<bool>()) << text;  // the write did not come
  }
}

TEST(Anomaly, BackwardNamesTheForwardLine) {
  struct Net : nn::Module {
    struct Root : nn::Module {
      Tensor forward(const Arg& x) override { return sqrt(x); }
    };
    nn::Child<Root> root{this, "root"};
    Tensor forward(const Arg& x) override { return root(x); }
  } net;
  Tensor x = tensor({4.F, 0.F}).named("x").requires_grad_();
#line 52 "train.cpp"
  Tensor y = net(x);
#line 44 "anomaly_test.cc"
  Tensor loss = y.sum();
  std::string text = error_of([&] {
    AnomalyMode guard;
    loss.backward();
  });
  EXPECT_EQ(text.substr(0, 120),
            "[backward] of sqrt in module 'root' made 1 inf of 2, the rest in [0.25, 0.25] (first: "
            "inf at [1]) in the gradient of inp");
  EXPECT_NE(text.find("input 0 'x' from finite values: incoming gradient float32[2] in [1, 1]"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("sqrt(x + 1e-8) (train.cpp:52)"), std::string::npos) << text;
}

// A batch with a NaN that relu() hides, and the gradient of the weights shows: the report does not
// call it finite.
TEST(Anomaly, SaysThatForwardsValuesWereNotFinite) {
  Tensor x = tensor({{1.F, NAN}, {2.F, 3.F}}), w = ones({2, 2}).requires_grad_();
  Tensor loss = sum(matmul(x, w) * tensor({{0.F, 0.F}, {1.F, 1.F}}));
  std::string text = error_of([&] {
    AnomalyMode guard;
    loss.backward();
  });
  EXPECT_EQ(text.substr(0, 23), "[backward] of matmul ma") << text;
  EXPECT_NE(text.find("from finite gradients, and from forward's values that were not finite: "
                      "incoming gradient"),
            std::string::npos)
      << text;
}

// A value that was not finite before is not this op's fault.
TEST(Anomaly, MasksAndConstantsPass) {
  AnomalyMode guard;
  Tensor mask = full({3}, -INFINITY);
  Tensor keep = tensor({1.F, 2.F, 3.F});
  Tensor scores = where(gt(keep, 1.5), keep, mask);
  Tensor p = softmax(scores, 0);
  EXPECT_EQ(p.to_vector<float>()[0], 0);
}

TEST(Anomaly, InfCanBeLet) {
  Tensor x = tensor({100.F});
  {
    AnomalyMode nan_only(false);
    Tensor y = exp(x);
    EXPECT_THROW(y - y, Error);
  }
  AnomalyMode both;
  EXPECT_THROW(exp(x), Error);
}

TEST(Anomaly, OneStepReport) {
  Tensor x = tensor({1.F}).requires_grad_();
  EXPECT_EQ(detect_anomaly([&] { (x * x).sum().backward(); }), "");
  std::string text = detect_anomaly([&] { (x / 0.0).sum().backward(); });
  EXPECT_EQ(text.substr(0, 17), "[div] made 1 inf ");
  // Other errors stay errors.
  EXPECT_THROW(detect_anomaly([&] { matmul(ones({2, 3}), ones({2, 3})); }), Error);
}

// Outside of the scope nothing is checked, and views, integers and strides do not confuse it.
TEST(Anomaly, ScopeAndStrides) {
  Tensor x = tensor({{1.F, -1.F}, {2.F, 3.F}});
  EXPECT_EQ(error_of([&] { log(x); }), "no error");
  AnomalyMode guard;
  EXPECT_EQ(error_of([&] { log(x.t().select(0, 0)); }), "no error");
  EXPECT_NE(error_of([&] { log(x.t().select(0, 1)); }), "no error");
  EXPECT_EQ(error_of([&] { arange(4) + arange(4); }), "no error");
}

}  // namespace
}  // namespace wick
