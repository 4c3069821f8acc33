// The accuracy that training with the rounding gains.
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

// A float net trained on for as long as the rounded one is; the same, observed once and rounded (by
// min-max over the whole training set); and the net from which it went on, trained on with the
// rounding instead.
Accuracies measure(DType weight, bool per_channel, bool lsq, uint64_t seed) {
  manual_seed(seed);
  test::SmallNet float_net;
  const test::Patterns train(1024, 10 * seed + 1, 1.3), held_out(4000, 10 * seed + 2, 1.3);
  float_net.train();
  test::train_steps(float_net, train, 0.005, 160);
  const ir::Graph start = test::graph_of(float_net);
  Accuracies a{};
  for (int epoch = 0; epoch < 5; ++epoch) {
    float_net.train();
    test::train_steps(float_net, train, 0.002, 32);
  }
  a.of_float = test::accuracy(float_net, held_out);
  QatOptions options;
  options.recipe.weight = weight;
  options.recipe.per_channel = per_channel;
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
  QatModule net(start, options);
  for (int epoch = 0; epoch < 5; ++epoch) {
    net.train_epoch(epoch);
    test::train_steps(net, train, 0.002, 32);
  }
  a.trained = test::accuracy(net, held_out);
  std::printf("%s%s%s, seed %llu: float %.3f, rounded %.3f, trained %.3f\n", dtype_name(weight),
              per_channel ? "" : " per tensor", lsq ? " lsq" : "",
              static_cast<unsigned long long>(seed), a.of_float, a.unaided, a.trained);
  return a;
}

Accuracies mean_of_three(DType weight, bool per_channel, bool lsq) {
  Accuracies sum{};
  for (uint64_t seed : {1, 2, 3}) {
    const Accuracies a = measure(weight, per_channel, lsq, seed);
    sum.of_float += a.of_float / 3, sum.unaided += a.unaided / 3, sum.trained += a.trained / 3;
  }
  std::printf("mean: float %.4f, rounded %.4f, trained %.4f\n", sum.of_float, sum.unaided,
              sum.trained);
  return sum;
}

TEST(QatAccuracy, BytesLoseLittle) {
  const Accuracies a = mean_of_three(DType::kI8, true, false);
  EXPECT_GT(a.of_float, 0.75);
  EXPECT_GT(a.trained, a.of_float - 0.01);
}

// One scale a channel leaves little to win back here: static rounding is within a point too.
TEST(QatAccuracy, FourBitWeightsAreWithinAPointOfFloat) {
  const Accuracies a = mean_of_three(DType::kI4, true, false);
  EXPECT_GT(a.trained, a.of_float - 0.01);
}

TEST(QatAccuracy, FourBitWeightsOfLearnedScalesAreToo) {
  const Accuracies a = mean_of_three(DType::kI4, true, true);
  EXPECT_GT(a.trained, a.of_float - 0.01);
}

// One scale for a whole weight: what rounding alone loses, training wins back.
TEST(QatAccuracy, FourBitsOfOneScaleNeedTraining) {
  for (bool lsq : {false, true}) {
    const Accuracies a = mean_of_three(DType::kI4, false, lsq);
    EXPECT_GT(a.trained, a.unaided) << (lsq ? "learned scales" : "observed scales");
  }
}

}  // namespace
}  // namespace wick
