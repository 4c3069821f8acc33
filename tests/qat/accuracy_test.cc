// What training with the rounding wins.
#include <gtest/gtest.h>

#include "tests/qat/goldens.h"
#include "tests/qat/nets.h"

namespace wick {
namespace {

using quantize::QatModule;
using quantize::QatOptions;

struct Accuracies {
  double of_float, unaided, trained;
};

// The float net; the same, observed once and rounded; and trained on.
Accuracies measure(DType weight, bool lsq, uint64_t seed) {
  manual_seed(seed);
  test::SmallNet float_net;
  const test::Patterns train(1024, 10 * seed + 1, 1.3), held_out(1000, 10 * seed + 2, 1.3);
  float_net.train();
  test::train_steps(float_net, train, 0.005, 160);
  Accuracies a{};
  a.of_float = test::accuracy(float_net, held_out);
  QatOptions options;
  options.recipe.weight = weight;
  {
    QatModule unaided(test::graph_of(float_net), options);
    const NoGrad guard;
    unaided.train();
    unaided.freeze_batch_norm();
    unaided(train.x);
    a.unaided = test::accuracy(unaided, held_out);
  }
  options.learn_scales = lsq;
  options.recipe.activation_observer.averaging = 0.05;
  QatModule net(test::graph_of(float_net), options);
  for (int epoch = 0; epoch < 5; ++epoch) {
    net.train_epoch(epoch);
    test::train_steps(net, train, 0.002, 32);
  }
  a.trained = test::accuracy(net, held_out);
  std::printf("%s%s, seed %llu: float %.3f, rounded %.3f, trained %.3f\n", dtype_name(weight),
              lsq ? " lsq" : "", static_cast<unsigned long long>(seed), a.of_float, a.unaided,
              a.trained);
  return a;
}

Accuracies mean_of_three(DType weight, bool lsq) {
  Accuracies sum{};
  for (uint64_t seed : {1, 2, 3}) {
    const Accuracies a = measure(weight, lsq, seed);
    sum.of_float += a.of_float / 3, sum.unaided += a.unaided / 3, sum.trained += a.trained / 3;
  }
  std::printf("mean: float %.4f, rounded %.4f, trained %.4f\n", sum.of_float, sum.unaided,
              sum.trained);
  return sum;
}

TEST(QatAccuracy, BytesLoseNothing) {
  const Accuracies a = mean_of_three(DType::kI8, false);
  EXPECT_GT(a.of_float, 0.75);
  EXPECT_GT(a.trained, a.of_float - 0.01);
}

TEST(QatAccuracy, FourBitWeightsComeBackByTraining) {
  const Accuracies a = mean_of_three(DType::kI4, false);
  EXPECT_GT(a.trained, a.unaided);
  EXPECT_GT(a.trained, a.of_float - 0.01);
}

TEST(QatAccuracy, FourBitWeightsOfLearnedScales) {
  const Accuracies a = mean_of_three(DType::kI4, true);
  EXPECT_GT(a.trained, a.unaided);
  EXPECT_GT(a.trained, a.of_float - 0.01);
}

}  // namespace
}  // namespace wick
