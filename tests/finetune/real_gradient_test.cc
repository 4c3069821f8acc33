// Gradients of real models, whole, against central differences in float64: ppocr_cls of
// WICK_REAL_MODELS and the MobileNetV2 at WICK_MOBILENET (real.sh exports it). Skipped if they are
// missing.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>

#include "tests/finetune/models.h"

namespace wick {
namespace {

struct RealModel {
  const char* name;
  const char* variable;
  const char* below;  // in the folder that the variable names
  Shape input;
  const char* features;
};
const RealModel kReal[] = {
    {"ppocr_cls",
     "WICK_REAL_MODELS",
     "/ppocr_cls/model.onnx",
     {2, 3, 48, 48},
     "p2o.GlobalAveragePool.19"},
    {"mobilenet_v2", "WICK_MOBILENET", "", {3, 3, 48, 48}, "/Flatten_output_0"},
};

class Real : public testing::TestWithParam<std::pair<RealModel, bool>> {};

// Every thirteenth tensor: a direction, and the element with the largest gradient alone. A step
// moves some of the half million activations over a kink of ReLU6 or HardSwish, in a deep net with
// batch statistics by far more than the step: smaller steps are tried too, and 1e-5 asked, not the
// 1e-7 of the small models.
TEST_P(Real, GradientIsTheCentralDifference) {
  const auto& [model, training] = GetParam();
  const char* folder = std::getenv(model.variable);
  const std::string path = folder == nullptr ? "" : std::string(folder) + model.below;
  if (folder == nullptr || !std::filesystem::exists(path)) {
    GTEST_SKIP() << model.name << " not installed (" << model.variable << ")";
  }
  nn::GraphModule net = nn::import_onnx(path);
  net.set_output(model.features);
  net.to(DType::kF64);
  EXPECT_GT(net.batch_norms(), 30u);
  Generator g{5, 0};
  const Tensor x = uniform(model.input, -1, 1, DType::kF64, g);
  {  // as after some training: statistics of such images, no bias that puts dead channels on a kink
    const NoGrad guard;
    for (const Tensor& p : net.parameters()) {
      if (p.rank() == 1 && abs(p).sum().item() == 0)
        p.copy_(uniform(p.raw_shape(), -0.2, 0.2, DType::kF64, g));
    }
    net.set_batch_norm_momentum(1);
    net(x);
  }
  net.train(training);
  Tensor weights;
  auto f = [&] {
    const Tensor y = net(x).flatten(1);
    if (!weights.defined()) weights = uniform(y.raw_shape(), 0.5, 1.5, DType::kF64, g);
    return (y * weights).mean();
  };
  const nn::NamedTensors all = net.named_parameters();
  std::vector<Tensor> leaves;
  for (const auto& [name, t] : all) leaves.push_back(t);
  const std::vector<Tensor> grads = grad({f()}, leaves);
  double worst = 0;
  size_t checked = 0;
  const NoGrad guard;
  for (size_t i = 0; i < leaves.size(); i += 13) {
    const Tensor& leaf = leaves[i];
    const Tensor at = leaf.clone();
    Tensor one = zeros(at.raw_shape(), DType::kF64);
    const int64_t largest = argmax(abs(grads[i]).flatten()).item_int();
    one.mutable_data<double>()[largest] = 1;
    for (const Tensor& v : {uniform(at.raw_shape(), -1, 1, DType::kF64, g), one}) {
      const double analytic = (grads[i] * v).sum().item();
      double error = 1, numeric = 0;
      for (double eps = 1e-6; error > 1e-5 && eps > 5e-10; eps /= 10) {
        leaf.copy_(at + v * eps);
        const double up = f().item();
        leaf.copy_(at - v * eps);
        numeric = (up - f().item()) / (2 * eps);
        error = std::min(error, std::fabs(numeric - analytic) / std::max(1.0, std::fabs(numeric)));
      }
      leaf.copy_(at);
      EXPECT_LT(error, 1e-5) << all[i].first << ": " << analytic << ", difference " << numeric;
      worst = std::max(worst, error);
      ++checked;
    }
  }
  printf("COUNT: gradient of %s%s: %zu tensors, %zu differences, worst error %.2g\n", model.name,
         training ? " (train)" : "", leaves.size(), checked, worst);
}

INSTANTIATE_TEST_SUITE_P(Models, Real,
                         testing::Values(std::pair(kReal[0], false), std::pair(kReal[0], true),
                                         std::pair(kReal[1], false), std::pair(kReal[1], true)),
                         [](const auto& info) {
                           return std::string(info.param.first.name) +
                                  (info.param.second ? "_train" : "_eval");
                         });

}  // namespace
}  // namespace wick
