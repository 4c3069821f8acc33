// A convolution with batch norm between observed activations against PyTorch's ConvBn2d: two
// training steps, one over frozen statistics, eval.
#include <gtest/gtest.h>

#include <cstring>

#include "tests/qat/goldens.h"
#include "tests/qat/nets.h"

namespace wick {
namespace {

using quantize::QatModule;
using quantize::QatOptions;
using test::difference;
using test::Goldens;

Tensor scale_named(const QatModule& net, const std::string& end) {
  for (const auto& [name, t] : net.named_buffers()) {
    if (name.size() >= end.size() && name.compare(name.size() - end.size(), end.size(), end) == 0)
      return t;
  }
  throw Error("no buffer " + end);
}

// Returns how many elements are not within 1e-4; expects all within one step (0.04), by which
// roundings may differ.
size_t far(const Tensor& got, const std::vector<float>& want, double step) {
  const std::vector<float> v = got.to_vector<float>();
  size_t n = 0;
  for (size_t i = 0; i < v.size(); ++i) {
    const double d = std::fabs(static_cast<double>(v[i]) - want[i]);
    if (d > 1e-4) ++n;
    EXPECT_LT(d, 1.01 * step) << i;
  }
  return n;
}

TEST(ConvBn, TrainsAsPyTorchs) {
  const Goldens g("conv_bn.txt");
  nn::Sequential float_net(nn::Conv2d(3, 5, 3, {.padding = 1, .bias = false}), nn::BatchNorm2d(5));
  {
    const NoGrad guard;
    float_net.get_parameter("0.weight").copy_(g.tensor("weight", {5, 3, 3, 3}));
    float_net.get_parameter("1.weight").copy_(g.tensor("gamma", {5}));
    float_net.get_parameter("1.bias").copy_(g.tensor("beta", {5}));
    float_net.get_buffer("1.running_mean").copy_(g.tensor("mean", {5}));
    float_net.get_buffer("1.running_var").copy_(g.tensor("var", {5}));
  }
  QatOptions options;
  options.recipe.activation_observer.averaging = 0.25;
  QatModule net(test::graph_of(float_net, {1, 3, 6, 6}), options);
  const Tensor w = net.get_parameter("0.weight"), gamma = net.get_parameter("1.weight"),
               beta = net.get_parameter("1.bias");
  double worst = 0;
  for (int step = 0; step < 4; ++step) {
    const std::string at = "step" + std::to_string(step) + ".";
    net.train(step != 3);
    if (step == 2) net.freeze_batch_norm();
    const Tensor y = net(g.tensor(at + "x", {4, 3, 6, 6}));
    const double out_scale = g.at(at + "out_scale")[0];
    EXPECT_LE(far(y, g.at(at + "y"), out_scale), 1U) << at;
    const std::vector<Tensor> grads =
        grad({y}, {w, gamma, beta}, {g.tensor(at + "g", {4, 5, 6, 6})});
    for (const auto& [what, t] : {std::pair<const char*, Tensor>{"gweight", grads[0]},
                                  {"gbeta", grads[2]},
                                  {"ggamma", grads[1]},
                                  {"mean", net.get_buffer("1.running_mean")},
                                  {"var", net.get_buffer("1.running_var")},
                                  {"in_scale", scale_named(net, "image_scale")},
                                  {"in_zero", scale_named(net, "image_zero_point")},
                                  {"w_scale", scale_named(net, "weight_folded_scale")}}) {
      const double d = difference(t, g.at(at + what));
      EXPECT_LT(d, 1e-4) << at << what;
      worst = std::max(worst, d);
    }
  }
  std::printf("worst difference, relative to the largest: %.2e\n", worst);
}

TEST(ConvBn, AGammaOfZeroIsMovedAway) {
  nn::Sequential float_net(nn::Conv2d(1, 3, 3), nn::BatchNorm2d(3));
  {
    const NoGrad guard;
    float_net.get_parameter("1.weight").copy_(tensor({0.0F, -1e-9F, 1.0F}));
  }
  QatModule net(test::graph_of(float_net));
  EXPECT_EQ(net.get_parameter("1.weight").to_vector<float>(),
            (std::vector<float>{1e-6F, -1e-6F, 1.0F}));
  net.train();
  Generator g{3, 0};
  const Tensor y = net(uniform({4, 1, 8, 8}, -1, 1, DType::kF32, g));
  for (float v : y.to_vector<float>()) ASSERT_TRUE(std::isfinite(v));
}

}  // namespace
}  // namespace wick
