// Gradients of imported graphs against central differences in float64: every parameter and every
// float input, in a direction drawn for each.
#include <gtest/gtest.h>

#include <cmath>

#include "tests/finetune/models.h"

namespace wick {
namespace {

using test::kTrainable;
using test::TrainableModel;

// A weighted sum of all outputs: every element of the Jacobian counts.
Tensor total(nn::GraphModule& net, const std::vector<Tensor>& in) {
  Generator g{11, 0};
  Tensor sum_of = zeros({}, DType::kF64);
  for (const Tensor& y : net.run(in)) {
    sum_of = sum_of + (y * uniform(y.raw_shape(), 0.5, 1.5, DType::kF64, g)).sum();
  }
  return sum_of;
}

class Gradient : public testing::TestWithParam<std::pair<TrainableModel, bool>> {};

TEST_P(Gradient, IsTheCentralDifference) {
  const auto& [model, training] = GetParam();
  nn::GraphModule net = import_module(test::path_of(model));
  net.to(DType::kF64);
  net.train(training);
  std::vector<Tensor> in = test::inputs_of(model, net, DType::kF64);
  nn::NamedTensors wanted = net.named_parameters();
  for (size_t i = 0; i < in.size(); ++i) {
    if (is_float(in[i].dtype())) wanted.emplace_back("input", in[i].requires_grad_());
  }
  std::vector<Tensor> leaves;
  for (const auto& [name, t] : wanted) leaves.push_back(t);
  const uint64_t seed = 3;  // Dropout draws the same in every run
  auto f = [&] {
    manual_seed(seed);
    return total(net, in);
  };
  const std::vector<Tensor> grads = grad({f()}, leaves, {}, false, false, true);
  Generator g{13, 0};
  double worst = 0;
  size_t reached = 0;
  for (size_t i = 0; i < leaves.size(); ++i) {
    const NoGrad guard;
    const Tensor at = leaves[i].clone();
    const Tensor v = uniform(at.raw_shape(), -1, 1, DType::kF64, g);
    const double eps = 1e-6;
    leaves[i].copy_(at + v * eps);
    const double up = f().item();
    leaves[i].copy_(at - v * eps);
    const double down = f().item();
    leaves[i].copy_(at);
    const double numeric = (up - down) / (2 * eps);
    const double analytic = grads[i].defined() ? (grads[i] * v).sum().item() : 0;
    const double error = std::fabs(numeric - analytic) / std::max(1.0, std::fabs(numeric));
    EXPECT_LT(error, 1e-7) << wanted[i].first << ": " << analytic << ", difference " << numeric;
    worst = std::max(worst, error);
    reached += grads[i].defined() ? 1 : 0;
  }
  EXPECT_EQ(reached, leaves.size());
  printf("COUNT: gradient of %s%s: %zu tensors, worst error %.2g\n", model.name,
         training ? " (train)" : "", leaves.size(), worst);
}

std::vector<std::pair<TrainableModel, bool>> both_modes() {
  std::vector<std::pair<TrainableModel, bool>> all;
  for (const TrainableModel& m : kTrainable) {
    all.emplace_back(m, false);
    all.emplace_back(m, true);
  }
  return all;
}
INSTANTIATE_TEST_SUITE_P(Imported, Gradient, testing::ValuesIn(both_modes()), [](const auto& info) {
  return std::string(info.param.first.name) + (info.param.second ? "_train" : "_eval");
});

}  // namespace
}  // namespace wick
