// Parameters, FLOPs and bytes against the formulas of papers.
#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "tests/modules/goldens.h"
#include "tests/support/error_of.h"

namespace wick {
namespace {

using test::error_of;
using testing::HasSubstr;

TEST(Summary, DigitMlp) {
  nn::Sequential net(nn::Linear(64, 32), nn::ReLU(), nn::Linear(32, 10));
  EXPECT_EQ(nn::count_parameters(net), 2410);
  EXPECT_EQ(nn::count_flops(net, {1, 64}), 4736);
  nn::ModelSummary s = nn::summary(net, Shape{1, 64});
  EXPECT_EQ(s.macs, 64 * 32 + 32 * 10);
  EXPECT_EQ(s.other_flops, 32 + 32 + 10);  // two biases and the ReLU
  EXPECT_EQ(s.parameter_bytes, 4u * 2410);
  EXPECT_EQ(s.activation_bytes, 4u * (32 + 32 + 10));
  EXPECT_EQ(s.input_bytes, 4u * 64);
  EXPECT_EQ(nn::count_flops(net, {8, 64}), 8 * 4736);
  EXPECT_TRUE(net.training());
}

TEST(Summary, Convolutions) {
  // Two-dimensional, 3 -> 32, 3x3: 896 parameters, where a dense layer from 32 x 32 x 3 has 98,336.
  nn::Conv2d conv(3, 32, 3);
  EXPECT_EQ(nn::count_parameters(conv), 896);
  EXPECT_EQ(nn::count_parameters(nn::Linear(32 * 32 * 3, 32)), 98336);
  // 128 x 32 x 28 x 28 outputs of 3 x 5 x 5: 240.8 M multiply-adds.
  nn::Conv2d big(3, 32, 5);
  EXPECT_EQ(nn::summary(big, Shape{128, 3, 32, 32}).macs, 128.0 * 32 * 28 * 28 * 3 * 5 * 5);
  nn::Conv2dOptions depthwise;
  depthwise.groups = 8;
  nn::Conv2d grouped(8, 8, 3, depthwise);
  EXPECT_EQ(nn::summary(grouped, Shape{1, 8, 10, 10}).macs, 8.0 * 8 * 8 * 9);
}

TEST(Summary, CountsPlainFunctionsToo) {
  struct Attention : nn::Module {
    nn::Child<nn::Linear> qkv{this, "qkv", 16, 48, false};
    Tensor forward(const Arg& x) override {
      Tensor h = qkv(x);
      Tensor q = h.narrow(2, 0, 16), k = h.narrow(2, 16, 16), v = h.narrow(2, 32, 16);
      return matmul(softmax(matmul(q, k.mT()) / 4, -1), v);
    }
  };
  struct Net : nn::Module {
    nn::Child<Attention> attention{this, "attention"};
    nn::Child<nn::Linear> unused{this, "unused", 3, 3};
    Tensor forward(const Arg& x) override { return sum(attention(x), 1); }
  } net;
  nn::ModelSummary s = nn::summary(net, Shape{2, 10, 16});
  EXPECT_EQ(s.modules[1].path, "attention");
  EXPECT_EQ(s.modules[1].macs, 2.0 * (10 * 10 * 16) * 2);  // scores, values
  EXPECT_EQ(s.modules[2].macs, 2.0 * 10 * 16 * 48);
  EXPECT_EQ(s.total("attention").macs, s.macs);
  // scale, softmax (five an element); the sum is the net's own
  EXPECT_EQ(s.modules[1].other_flops, 2 * 100 + 5 * 2 * 100);
  EXPECT_EQ(s.modules[0].other_flops, 2 * 10 * 16);
  EXPECT_FALSE(s.modules[3].called);
  EXPECT_EQ(s.modules[2].outputs[0], (Shape{2, 10, 48}));
  EXPECT_THAT(s.text(), HasSubstr("not run"));
}

TEST(Summary, PrintsATable) {
  manual_seed(1);
  std::shared_ptr<nn::Module> net = nn::lenet();
  nn::ModelSummary s = nn::summary(*net, Shape{1, 1, 28, 28});
  const std::string text = s.text();
  EXPECT_THAT(text,
              HasSubstr("\n  Conv2d (0)     [1,32,28,28]      320    451,584         1.25 KiB\n"));
  EXPECT_THAT(text, HasSubstr("parameters 421,642, trainable 421,642"));
  EXPECT_THAT(text, HasSubstr("multiply-adds 4,241,152, FLOPs 8,482,304"));
  nlohmann::json doc = nlohmann::json::parse(s.json());
  EXPECT_EQ(doc["parameters"], 421642);
  EXPECT_EQ(doc["modules"][1]["outputs"][0], (std::vector<int64_t>{1, 32, 28, 28}));
  EXPECT_EQ(doc["modules"].size(), 11u);
  net->requires_grad_("0.", false);
  EXPECT_EQ(nn::summary(*net, Shape{1, 1, 28, 28}).trainable, 421642 - 320);
  EXPECT_EQ(nn::count_parameters(*net, true), 421642 - 320);
  EXPECT_THAT(error_of([&] {
                nn::summary(*net, Shape{0, 1, 28, 28});
              }),
              HasSubstr("[summary] the input's shape is [0,1,28,28]"));
  EXPECT_THAT(error_of([&] { nn::summary(*net, Shape{1, 2, 28, 28}); }), HasSubstr("[conv2d]"));
  EXPECT_TRUE(net->training());  // put back after an error too
}

TEST(Summary, LeavesModesAndStatisticsAsTheyWere) {
  nn::Sequential net(nn::Conv2d(1, 2, 3), nn::BatchNorm2d(2));
  net.get_submodule("1").eval();
  nn::summary(net, Shape{1, 1, 8, 8});
  EXPECT_TRUE(net.training());
  EXPECT_TRUE(net.get_submodule("0").training());
  EXPECT_FALSE(net.get_submodule("1").training());
  EXPECT_EQ(net.get_buffer("1.num_batches_tracked").item_int(), 0);
}

TensorView view(const Tensor& t) { return t.raw(); }

TEST(OpCost, OfGradientsAndOthers) {
  Tensor x = ones({4, 3, 8, 8}), w = ones({6, 3, 3, 3}), g = ones({4, 6, 6, 6});
  auto cost = [](OpId op, std::vector<TensorView> in, std::vector<TensorView> out) {
    return op_cost(op, nullptr, in, out);
  };
  const double macs = 4.0 * 6 * 6 * 6 * 27;
  EXPECT_EQ(cost(OpId::kConv, {view(x), view(w)}, {view(g)}).macs, macs);
  EXPECT_EQ(cost(OpId::kConvInputGrad, {view(g), view(w)}, {view(x)}).macs, macs);
  EXPECT_EQ(cost(OpId::kConvWeightGrad, {view(x), view(g)}, {view(w)}).macs, macs);
  Tensor a = ones({5, 7}), row = ones({7}), wide = row.expand({5, 7});
  OpCost add = cost(OpId::kAdd, {view(a), view(wide)}, {view(a)});
  EXPECT_EQ(add.flops(), 35);
  EXPECT_EQ(add.bytes_read, 4 * (35 + 7));  // the broadcast row once
  EXPECT_EQ(add.bytes_written, 4 * 35);
  EXPECT_NEAR(add.intensity(), 35.0 / (4 * 77), 1e-12);
  EXPECT_EQ(cost(OpId::kTranspose, {view(a)}, {view(a.t())}).flops(), 0);
  EXPECT_EQ(cost(OpId::kReduceSum, {view(a)}, {view(ones({}))}).flops(), 35);
  Tensor square = ones({2, 6, 6});
  EXPECT_EQ(cost(OpId::kInverse, {view(square)}, {view(square)}).flops(), 2 * 2 * 216);
  PoolAttrs pool;
  pool.kernel_shape = {2, 2};
  Tensor out = ones({4, 3, 4, 4});
  std::vector<TensorView> in = {view(x)}, to = {view(out)};
  EXPECT_EQ(op_cost(OpId::kMaxPool, &pool, in, to).flops(), 4 * 4 * 3 * 16);
}

}  // namespace
}  // namespace wick
