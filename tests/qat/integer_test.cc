// A trained model as integers: the module after freeze(), the interpreter on the reference kernels
// and a program on the SIMD kernels give one set of bits, over thousands of images.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/qat/goldens.h"
#include "tests/qat/nets.h"
#include "tests/quantizer/quantized.h"

namespace wick {
namespace {

using quantize::QatModule;
using quantize::QatOptions;

TEST(QatInteger, TrainedIsDeployedInEveryBit) {
  manual_seed(21);
  test::SmallNet float_net;
  const test::Patterns train(512, 1), held_out(10000, 2);
  float_net.train();
  test::train_steps(float_net, train, 0.005, 60);
  QatModule net(test::graph_of(float_net));
  for (int epoch = 0; epoch < 5; ++epoch) {
    net.train_epoch(epoch);
    test::train_steps(net, train, 0.002, 8);
  }
  const double rounded = test::accuracy(net, held_out);
  EXPECT_EQ(net.integer(), nullptr);
  ir::LowerReport report;
  net.freeze(&report);
  std::printf("%s", report.text().c_str());
  EXPECT_TRUE(report.stayed.empty()) << report.text();
  ASSERT_NE(net.integer(), nullptr);
  EXPECT_EQ(report.integer["QLinearConv"], 3);

  const Tensor y = [&] {
    const NoGrad guard;
    return net(held_out.x);
  }();
  const ir::Graph& graph = net.integer()->graph();
  const Tensor some = held_out.x.slice(0, 0, 200);
  EXPECT_EQ(test::differing(y.slice(0, 0, 200).contiguous(), test::interpret(graph, some)), 0);
  const std::vector<float> trained = y.to_vector<float>(),
                           deployed = test::deployed(graph, held_out.x, 64);
  ASSERT_EQ(trained.size(), deployed.size());
  size_t differ = 0;
  for (size_t i = 0; i < trained.size(); ++i) differ += trained[i] != deployed[i] ? 1 : 0;
  EXPECT_EQ(differ, 0U);
  const double integers = test::accuracy(net, held_out);
  std::printf(
      "10000 images, %zu of %zu outputs differ; accuracy %.4f by rounded floats, %.4f by "
      "integers\n",
      differ, trained.size(), rounded, integers);
  EXPECT_NEAR(integers, rounded, 0.005);
  // training takes it back
  net.train();
  test::train_steps(net, train, 0.002, 1);
  EXPECT_EQ(net.integer(), nullptr);
}

// A small net that finds landmarks: each layer ends in a PRelu of its own slopes, which are
// trained.
struct PReluNet : nn::Module {
  nn::Child<nn::Conv2d> c1{this, "c1", 1, 8, 3, nn::Conv2dOptions{.padding = 1, .bias = false}};
  nn::Child<nn::BatchNorm2d> b1{this, "b1", 8};
  nn::Child<nn::PReLU> p1{this, "p1", 8};
  nn::Child<nn::Conv2d> c2{this, "c2", 8, 8, 3, nn::Conv2dOptions{.padding = 1}};
  nn::Child<nn::PReLU> p2{this, "p2"};
  nn::Child<nn::Linear> f1{this, "f1", 8 * 4, 16};
  nn::Child<nn::PReLU> p3{this, "p3", 16};
  nn::Child<nn::Linear> f2{this, "f2", 16, 10};
  Tensor forward(const Arg& x) override {
    const Tensor h = p2(c2(p1(b1(c1(x)))));
    return f2(p3(f1(flatten(max_pool2d(h, 4), 1))));
  }
};

TEST(QatInteger, PReluStaysBytesAndLearns) {
  manual_seed(22);
  PReluNet float_net;
  const test::Patterns train(256, 3), held_out(1000, 4);
  float_net.train();
  test::train_steps(float_net, train, 0.005, 30);
  QatModule net(test::graph_of(float_net));
  const auto slopes = [&] {
    std::vector<float> all;
    for (const auto& [name, t] : net.named_parameters()) {
      if (name.rfind("p", 0) != 0 || name.find("weight") == std::string::npos) continue;
      const std::vector<float> own = t.to_vector<float>();
      all.insert(all.end(), own.begin(), own.end());
    }
    return all;
  };
  const std::vector<float> before = slopes();
  EXPECT_EQ(before.size(), 8U + 1 + 16);
  for (int epoch = 0; epoch < 3; ++epoch) {
    net.train_epoch(epoch);
    test::train_steps(net, train, 0.002, 8);
  }
  EXPECT_NE(slopes(), before);
  ir::LowerReport report;
  net.freeze(&report);
  EXPECT_TRUE(report.stayed.empty()) << report.text();
  EXPECT_EQ(report.integer["QLinearPRelu"], 3);
  const Tensor y = [&] {
    const NoGrad guard;
    return net(held_out.x);
  }();
  const ir::Graph& graph = net.integer()->graph();
  const Tensor some = held_out.x.slice(0, 0, 100);
  EXPECT_EQ(test::differing(y.slice(0, 0, 100).contiguous(), test::interpret(graph, some)), 0);
  EXPECT_EQ(y.to_vector<float>(), test::deployed(graph, held_out.x, 64));
}

}  // namespace
}  // namespace wick
