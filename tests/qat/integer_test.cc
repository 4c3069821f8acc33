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

}  // namespace
}  // namespace wick
