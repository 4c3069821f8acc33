// Modules, their names, and the promise that bits do not depend on the thread count or the kernel
// set.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "wick/trainer.h"

namespace wick {
namespace {

std::vector<std::string> keys(const nn::Module& m) {
  std::vector<std::string> k;
  for (auto& [name, t] : m.state_dict()) k.push_back(name);
  return k;
}

TEST(Nn, StateDictNamesArePyTorchs) {
  EXPECT_EQ(keys(*nn::lenet()),
            (std::vector<std::string>{"0.weight", "0.bias", "3.weight", "3.bias", "7.weight",
                                      "7.bias", "9.weight", "9.bias"}));
  EXPECT_EQ(keys(*nn::mlp()), (std::vector<std::string>{"0.weight", "0.bias", "2.weight", "2.bias",
                                                        "4.weight", "4.bias"}));
  auto r = keys(*nn::resnet8());
  EXPECT_EQ(r[1], "bn1.weight");
  EXPECT_EQ(r[5], "bn1.num_batches_tracked");
  EXPECT_NE(std::find(r.begin(), r.end(), "layer2.downsample.1.running_var"), r.end());
  auto m = keys(*nn::make_model("mobilenet"));
  for (const char* name :
       {"features.0.0.weight", "features.1.conv.0.1.running_mean", "features.3.conv.1.0.weight",
        "features.5.conv.3.bias", "features.6.1.weight", "classifier.bias"}) {
    EXPECT_NE(std::find(m.begin(), m.end(), name), m.end()) << name;
  }
}

TEST(Nn, LoadReportsEveryProblem) {
  auto m = nn::mlp();
  nn::NamedTensors state = m->state_dict();
  state[0].second = zeros({1, 2});
  state[1].first = "bias0";
  try {
    m->load_state_dict(state);
    FAIL();
  } catch (const Error& e) {
    std::string text = e.what();
    EXPECT_NE(text.find("missing: 0.bias"), std::string::npos) << text;
    EXPECT_NE(text.find("unexpected: bias0"), std::string::npos) << text;
    EXPECT_NE(text.find("shape: 0.weight is [1,2], the model has [512,784]"), std::string::npos)
        << text;
  }
}

struct TwoLayers : nn::Module {
  nn::Child<nn::Linear> fc1{this, "fc1", 4, 3};
  nn::Child<nn::Linear> fc2{this, "fc2", 3, 2, false};
  Tensor forward(const Arg& x) override { return fc2(relu(fc1(x))); }
};

TEST(Nn, OwnModule) {
  TwoLayers net;
  EXPECT_EQ(keys(net), (std::vector<std::string>{"fc1.weight", "fc1.bias", "fc2.weight"}));
  EXPECT_EQ(net(ones({5, 4})).raw_shape(), (Shape{5, 2}));
  try {
    net(ones({5, 3}));
    FAIL();
  } catch (const Error& e) {
    EXPECT_NE(std::string(e.what()).find("[linear] in module 'fc1': last input dimension differs"),
              std::string::npos);
    EXPECT_NE(std::string(e.what()).find("(nn_test.cc:"), std::string::npos) << e.what();
  }
}

TEST(Nn, BatchNormStatistics) {
  nn::BatchNorm2d bn(1);
  Tensor x = tensor({1.f, 2.f, 3.f, 6.f}).reshape({2, 1, 1, 2});
  Tensor y = bn(x);
  EXPECT_NEAR(mean(y).item(), 0, 1e-6);
  EXPECT_NEAR(bn.running_mean.item(), 0.1 * 3, 1e-6);
  EXPECT_NEAR(bn.running_var.item(), 0.9 + 0.1 * (14.0 / 3), 1e-6);  // unbiased
  EXPECT_EQ(bn.num_batches_tracked.item_int(), 1);
  bn.eval();
  bn(x);
  EXPECT_EQ(bn.num_batches_tracked.item_int(), 1);
}

TEST(Nn, DropoutKeepsTheMean) {
  manual_seed(2);
  nn::Dropout d(0.25);
  Tensor y = d(ones({100, 100}));
  EXPECT_NEAR(mean(y).item(), 1, 0.02);
  EXPECT_NEAR(mean(eq(y, 0).to(DType::kF32)).item(), 0.25, 0.02);
  d.eval();
  EXPECT_EQ(mean(d(ones({10}))).item(), 1);
}

// All gradients of a step, and the loss, as bytes.
std::vector<float> step_bits(const std::string& name, int threads) {
  set_num_threads(threads);
  manual_seed(11);
  auto model = nn::make_model(name);
  Tensor x = rand({6, 1, 28, 28});
  Tensor loss = cross_entropy((*model)(x), tensor<int64_t>({1, 2, 3, 4, 5, 6}));
  loss.backward();
  std::vector<float> bits = loss.to_vector<float>();
  for (const Tensor& p : model->parameters()) {
    auto g = p.grad().to_vector<float>();
    bits.insert(bits.end(), g.begin(), g.end());
  }
  set_num_threads(1);
  return bits;
}

TEST(Nn, BitsDoNotDependOnThreads) {
  for (const std::string& name : nn::model_names()) {
    auto one = step_bits(name, 1), two = step_bits(name, 2), three = step_bits(name, 3);
    EXPECT_EQ(memcmp(one.data(), two.data(), one.size() * sizeof(float)), 0) << name;
    EXPECT_EQ(memcmp(one.data(), three.data(), one.size() * sizeof(float)), 0) << name;
  }
}

TEST(Nn, BitsDoNotDependOnTheKernelSet) {
  for (const std::string& name : nn::model_names()) {
    auto simd = step_bits(name, 1);
    ReferenceKernelsScope plain;
    auto reference = step_bits(name, 1);
    EXPECT_EQ(memcmp(simd.data(), reference.data(), simd.size() * sizeof(float)), 0) << name;
  }
}

TEST(Nn, LeNetLearns) {
  manual_seed(4);
  auto model = nn::lenet();
  Tensor x = rand({8, 1, 28, 28}), target = tensor<int64_t>({0, 1, 2, 3, 4, 5, 6, 7});
  double first = 0, last = 0;
  for (int i = 0; i < 25; ++i) {
    Tensor loss = cross_entropy((*model)(x), target);
    last = loss.item();
    if (i == 0) first = last;
    model->zero_grad();
    loss.backward();
    NoGrad guard;
    for (const Tensor& p : model->parameters()) p.add_(p.grad(), -0.05);
  }
  EXPECT_NEAR(first, std::log(10.0), 0.2);
  EXPECT_LT(last, 0.9 * first);
}

}  // namespace
}  // namespace wick
