// explain(): the state of each layer, for models whose trouble is known.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "tests/support/error_of.h"
#include "trainer/explain/report.h"
#include "trainer/nn/layers.h"
#include "trainer/tensor/ops.h"
#include "trainer/tensor/philox.h"

namespace wick {
namespace {

ExplainReport of(nn::Module& net, const Tensor& x, double lr = 0.01) {
  return explain(net, [&] { return mean(square(net(x))); }, {lr});
}
void fill(const Tensor& t, double value) {
  NoGrad guard;
  t.fill_(value);
}

// Every number against a computation by hand: y = 2 x over x = {1, 2}, loss mean(y^2).
TEST(Explain, NumbersByHand) {
  nn::Sequential net(nn::Linear(1, 1, false));
  fill(net.parameters()[0], 2);
  Tensor x = tensor({{1.F}, {2.F}});
  ExplainReport r = of(net, x, 0.5);
  ASSERT_EQ(r.layers.size(), 1U);
  const LayerReport& l = r.layers[0];
  EXPECT_EQ(l.layer, "0");
  EXPECT_EQ(l.op, "linear");
  EXPECT_EQ(r.loss, 10);
  EXPECT_EQ(l.mean, 3);
  EXPECT_EQ(l.std, 1);
  EXPECT_FLOAT_EQ(l.gradient_rms, std::sqrt((4 + 16) / 2.0));  // d loss / dy = y
  EXPECT_EQ(l.weight_norm, 2);
  EXPECT_EQ(l.gradient_norm, 10);  // sum of y x
  EXPECT_EQ(l.update_ratio, 2.5);
  EXPECT_EQ(l.verdict, "big steps");
}

TEST(Explain, LeavesNoTrace) {
  manual_seed(3);
  nn::Sequential net(nn::Conv2d(1, 4, 3), nn::BatchNorm2d(4), nn::ReLU(), nn::Dropout(0.5),
                     nn::Flatten(), nn::Linear(4 * 16, 1));
  Tensor x = randn({8, 1, 6, 6});
  mean(net(x)).backward();
  std::vector<float> gradient = net.parameters()[0].grad().to_vector<float>();
  std::vector<float> running = net.named_buffers()[0].second.to_vector<float>();
  const uint64_t stream = default_generator().stream;
  of(net, x);
  EXPECT_EQ(net.parameters()[0].grad().to_vector<float>(), gradient);
  EXPECT_EQ(net.named_buffers()[0].second.to_vector<float>(), running);
  EXPECT_EQ(default_generator().stream, stream);
}

TEST(Explain, DeadRelu) {
  manual_seed(0);
  nn::Sequential net(nn::Linear(4, 8), nn::ReLU(), nn::Linear(8, 1));
  std::vector<Tensor> p = net.parameters();
  fill(p[1].slice(0, 0, 6), -100);  // six of eight units
  ExplainReport r = of(net, rand({16, 4}));
  EXPECT_EQ(r.layers[1].layer, "1");
  EXPECT_GE(r.layers[1].dead, 0.75);
  EXPECT_EQ(r.layers[1].verdict, "dead");
  ASSERT_FALSE(r.advice.empty());
  EXPECT_NE(r.advice[0].find("of its units are 0 for the whole batch (dead ReLU)"),
            std::string::npos);
}

TEST(Explain, SaturatedTanhAndSigmoid) {
  manual_seed(0);
  nn::Sequential net(nn::Linear(4, 8), nn::Tanh(), nn::Linear(8, 8), nn::Sigmoid(),
                     nn::Linear(8, 1));
  std::vector<Tensor> p = net.parameters();
  fill(p[0], 50);
  fill(p[2], 50);
  ExplainReport r = of(net, rand({16, 4}) + 1.0);
  EXPECT_EQ(r.layers[1].saturated, 1);
  EXPECT_EQ(r.layers[1].verdict, "saturated");
  EXPECT_EQ(r.layers[3].saturated, 1);
}

TEST(Explain, VanishingExplodingAndHealthy) {
  auto deep = [](double scale) {
    manual_seed(1);
    auto net = std::make_shared<nn::Sequential>();
    for (int i = 0; i < 8; ++i) {
      auto layer = std::make_shared<nn::Linear>(32, 32, false);
      NoGrad guard;
      layer->weight.copy_(randn({32, 32}) * scale);
      net->push_back(layer);
      net->push_back(std::make_shared<nn::Tanh>());
    }
    net->push_back(std::make_shared<nn::Linear>(32, 1));
    return of(*net, randn({16, 32}));
  };
  EXPECT_EQ(deep(0.01).verdict, "vanishing");
  EXPECT_EQ(deep(1 / std::sqrt(32)).verdict, "ok");
  nn::Sequential linear;
  for (int i = 0; i < 6; ++i) {
    auto layer = std::make_shared<nn::Linear>(32, 32, false);
    NoGrad guard;
    layer->weight.copy_(randn({32, 32}));
    linear.push_back(layer);
  }
  EXPECT_EQ(of(linear, randn({16, 32})).verdict, "exploding");
}

TEST(Explain, UnusedParameterAndDetach) {
  struct Net : nn::Module {
    nn::Child<nn::Linear> used{this, "used", 2, 2};
    nn::Child<nn::Linear> unused{this, "unused", 2, 2};
    Tensor forward(const Arg& x) override { return used({used(x).detach(), x.where}); }
  } net;
  ExplainReport r = of(net, ones({3, 2}));
  EXPECT_EQ(r.layers[0].verdict, "no gradient") << r.text();
  std::string text = r.text();
  EXPECT_NE(text.find("parameter 'unused.weight' got no gradient"), std::string::npos) << text;
}

TEST(Explain, Table) {
  nn::Sequential net(nn::Linear(1, 2), nn::ReLU());
  std::vector<Tensor> p = net.parameters();
  fill(p[0], 1);
  fill(p[1], 0);
  EXPECT_EQ(of(net, tensor({{1.F}, {3.F}})).text(),
            "loss 5\n"
            "layer  op         output               mean      std   zero   dead  satur  grad rms"
            "      |w|   |grad|   update  verdict\n"
            "0      linear     [2,2]                   2        1      -      -      -       1.1"
            "      1.4      7.6    0.054  ok\n"
            "1      relu       [2,2]                   2        1      -      -      -       1.1"
            "        -        -        -  ok\n"
            "gradient: ok\n");
}

TEST(Explain, NeedsALoss) {
  nn::Linear net(2, 2);
  std::string text = test::error_of([&] { explain(net, [&] { return net(ones({3, 2})); }); });
  EXPECT_EQ(text.substr(0, 66),
            "[explain] the function must return a loss of one element (report_t");
}

// Small weights kill the signal, large ones saturate tanh; Xavier keeps both in range.
TEST(Explain, InitComparison) {
  std::vector<InitPoint> points = compare_inits(InitActivation::kTanh, 10, 32, 5);
  ASSERT_EQ(points.size(), 40U);
  auto at = [&](const std::string& init, int layer) {
    for (const InitPoint& p : points) {
      if (p.init == init && p.layer == layer) return p;
    }
    return InitPoint();
  };
  EXPECT_LT(at("small (0.01)", 10).activation_std, 1e-8);
  EXPECT_GT(at("xavier", 10).activation_std, 0.1);
  EXPECT_GT(at("large (1.0)", 10).activation_std, 0.9);
  EXPECT_LT(at("small (0.01)", 1).gradient_rms, 1e-8);
  EXPECT_GT(at("xavier", 1).gradient_rms, 0.01);
  // He is made for relu: there its gradient is the one that lasts.
  points = compare_inits(InitActivation::kRelu, 10, 32, 5);
  EXPECT_GT(at("he", 1).gradient_rms, 5 * at("xavier", 1).gradient_rms);
  const std::string csv = init_csv(points);
  EXPECT_EQ(csv.substr(0, csv.find('\n')), "init,layer,activation_std,gradient_rms");
  EXPECT_EQ(std::count(csv.begin(), csv.end(), '\n'), 41);
}

}  // namespace
}  // namespace wick
