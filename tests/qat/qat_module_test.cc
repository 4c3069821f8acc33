// Observers, schedule, state, determinism and errors of a module in training.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "tests/qat/goldens.h"
#include "tests/qat/nets.h"
#include "tests/support/digest.h"
#include "tests/support/error_of.h"

namespace wick {
namespace {

using quantize::QatModule;
using quantize::QatOptions;

ir::Graph small_graph(uint64_t seed = 1) {
  manual_seed(seed);
  test::SmallNet net;
  return test::graph_of(net);
}

std::map<std::string, std::vector<float>> buffers(const nn::Module& net, const std::string& end) {
  std::map<std::string, std::vector<float>> found;
  for (const auto& [name, t] : net.named_buffers()) {
    if (name.size() >= end.size() && name.compare(name.size() - end.size(), end.size(), end) == 0)
      found[name] = t.to(DType::kF32).to_vector<float>();
  }
  return found;
}

// PyTorch's MovingAverageMinMaxObserver: the first batch whole, then min + c (new - min).
TEST(QatModule, RangesMoveAsTheRecipeSays) {
  QatOptions options;
  options.recipe.activation_observer.averaging = 0.1;
  QatModule net(small_graph(), options);
  net.train();
  const auto range = [&] { return buffers(net, "image_range").begin()->second; };
  EXPECT_GT(range()[0], range()[1]);
  Tensor x = zeros({2, 1, 8, 8});
  x.mutable_data<float>()[3] = -1, x.mutable_data<float>()[7] = 3;
  net(x);
  EXPECT_EQ(range(), (std::vector<float>{-1, 3}));
  net(x * 2.0F);
  EXPECT_EQ(range(), (std::vector<float>{-1 + 0.1F * (-2 + 1), 3 + 0.1F * (6 - 3)}));
  const float scale = buffers(net, "image_scale").begin()->second[0];
  EXPECT_EQ(scale, (range()[1] - range()[0]) / 255.0F);
  EXPECT_EQ(buffers(net, "image_zero_point").begin()->second[0],
            std::nearbyint(-range()[0] / scale));
  net.eval();
  net(x * 10.0F);
  EXPECT_EQ(range()[1], 3 + 0.1F * 3);

  options.recipe.activation_observer.kind = quantize::ObserverKind::kMinMax;
  QatModule widest(small_graph(), options);
  widest.train();
  widest(x), widest(x * 2.0F), widest(x * 0.5F);
  EXPECT_EQ(buffers(widest, "image_range").begin()->second, (std::vector<float>{-2, 6}));
}

TEST(QatModule, FrozenObserversAndBatchNormsDoNotMove) {
  const test::Patterns data(64, 1);
  QatModule net(small_graph());
  net.train();
  test::train_steps(net, data, 0.01, 3);
  net.freeze_observers();
  const auto scales = buffers(net, "_scale"), ranges = buffers(net, "_range"),
             means = buffers(net, "running_mean");
  test::train_steps(net, data, 0.01, 3);
  EXPECT_EQ(buffers(net, "_scale"), scales);
  EXPECT_EQ(buffers(net, "_range"), ranges);
  EXPECT_NE(buffers(net, "running_mean"), means);
  net.freeze_batch_norm();
  const auto later = buffers(net, "running_mean"), vars = buffers(net, "running_var");
  const std::vector<float> gamma = net.get_parameter("b1.weight").to_vector<float>();
  test::train_steps(net, data, 0.01, 3);
  EXPECT_EQ(buffers(net, "running_mean"), later);
  EXPECT_EQ(buffers(net, "running_var"), vars);
  EXPECT_NE(net.get_parameter("b1.weight").to_vector<float>(), gamma);  // it learns on
  net.freeze_observers(false), net.freeze_batch_norm(false);
  test::train_steps(net, data, 0.01, 1);
  EXPECT_NE(buffers(net, "_scale"), scales);
  EXPECT_NE(buffers(net, "running_mean"), later);
}

TEST(QatModule, OverFixedStatisticsTrainAndEvalAreOne) {
  const test::Patterns data(64, 1);
  QatModule net(small_graph());
  net.train();
  test::train_steps(net, data, 0.01, 3);
  net.freeze_observers(), net.freeze_batch_norm();
  const std::vector<float> training = net(data.x).to_vector<float>();
  net.eval();
  EXPECT_EQ(net(data.x).to_vector<float>(), training);
}

TEST(QatModule, ScheduleFreezesByEpoch) {
  QatModule net(small_graph());
  std::string got;
  for (int epoch = 0; epoch < 6; ++epoch) {
    net.eval();
    net.train_epoch(epoch);
    EXPECT_TRUE(net.training());
    got += net.observers_frozen() ? 'o' : '.';
    got += net.batch_norm_frozen() ? 'b' : '.';
  }
  EXPECT_EQ(got,
            "......"
            ".bobob");
  QatOptions never;
  never.observer_epochs = never.batch_norm_epochs = -1;
  QatModule free(small_graph(), never);
  free.train_epoch(1000);
  EXPECT_FALSE(free.observers_frozen() || free.batch_norm_frozen());
}

TEST(QatModule, LearnedScalesLearn) {
  const test::Patterns data(256, 1);
  QatOptions options;
  options.learn_scales = true;
  options.recipe.weight = DType::kI4;
  QatModule net(small_graph(), options);
  net.train();
  net(data.x);  // the first batch gives the scales
  std::map<std::string, std::vector<float>> first;
  for (const auto& [name, t] : net.named_parameters()) {
    if (name.find("_scale") != std::string::npos) first[name] = t.to_vector<float>();
  }
  EXPECT_GE(first.size(), 10U);
  // 2 mean |w| / sqrt(7) for each output channel of the last layer
  const Tensor w = net.get_parameter("fc.weight");
  const std::vector<float> size = abs(w.detach()).mean(1).to_vector<float>();
  const std::vector<float>& of_weight = first.at("fc.weight_scale");
  for (size_t i = 0; i < size.size(); ++i) EXPECT_EQ(of_weight[i], 2 * size[i] / std::sqrt(7.0F));
  const auto ranges = buffers(net, "_range"), zeros = buffers(net, "_zero_point");
  const double before = test::accuracy(net, data);
  net.train();
  test::train_steps(net, data, 0.005, 40);
  size_t moved = 0;
  for (const auto& [name, t] : net.named_parameters()) {
    if (first.count(name) != 0 && t.to_vector<float>() != first[name]) ++moved;
  }
  EXPECT_EQ(moved, first.size());
  EXPECT_EQ(buffers(net, "_range"), ranges);
  EXPECT_EQ(buffers(net, "_zero_point"), zeros);
  EXPECT_GT(test::accuracy(net, data), before);
  // a scale that an optimizer took below zero is lifted
  {
    const NoGrad guard;
    net.get_parameter("fc.weight_scale").fill_(-1.0);
  }
  net.train();
  net(data.x);
  EXPECT_GT(net.get_parameter("fc.weight_scale").to_vector<float>()[0], 0);
}

TEST(QatModule, StateDictResumesExactly) {
  const test::Patterns data(128, 1);
  for (bool lsq : {false, true}) {
    QatOptions options;
    options.learn_scales = lsq;
    QatModule net(small_graph(), options);
    net.train_epoch(3);  // batch norms frozen, observers not
    test::train_steps(net, data, 0.01, 3);
    QatModule other(small_graph(9), options);
    other.load_state_dict(net.state_dict());
    EXPECT_TRUE(other.batch_norm_frozen());
    EXPECT_FALSE(other.observers_frozen());
    other.train();
    test::train_steps(net, data, 0.01, 3);
    test::train_steps(other, data, 0.01, 3);
    const nn::NamedTensors a = net.state_dict(), b = other.state_dict();
    ASSERT_EQ(a.size(), b.size());
    for (size_t i = 0; i < a.size(); ++i) {
      ASSERT_EQ(a[i].first, b[i].first);
      ASSERT_EQ(a[i].second.to(DType::kF32).to_vector<float>(),
                b[i].second.to(DType::kF32).to_vector<float>())
          << a[i].first;
    }
    // a graph that was written back goes on too
    QatModule third(net.to_graph(), options);
    third.eval(), net.eval();
    EXPECT_EQ(third(data.x).to_vector<float>(), net(data.x).to_vector<float>());
  }
}

TEST(QatModule, OneSeedOneResultWhateverTheThreads) {
  const test::Patterns data(128, 1);
  std::vector<uint64_t> digests;
  const int before = num_threads();
  for (int threads : {1, 2, 1}) {
    set_num_threads(threads);
    QatModule net(small_graph());
    net.train();
    test::train_steps(net, data, 0.01, 6);
    uint64_t hash = test::kDigestSeed;
    for (const auto& [name, t] : net.state_dict()) {
      const std::vector<float> v = t.to(DType::kF32).to_vector<float>();
      hash = test::digest(v.data(), static_cast<int64_t>(v.size()), hash);
    }
    digests.push_back(hash);
  }
  set_num_threads(before);
  EXPECT_EQ(digests[0], digests[1]);
  EXPECT_EQ(digests[0], digests[2]);
}

TEST(QatModule, BackwardMayComeAfterAnotherForward) {
  const test::Patterns data(32, 1);
  QatModule net(small_graph());
  net.train();
  const Tensor first = net(data.x).square().mean(), second = net(data.x * 2.0F).square().mean();
  first.backward();
  second.backward();
  EXPECT_TRUE(net.get_parameter("c1.weight").grad().defined());
}

// In steps of s_x s_w these biases would exceed 2^31; a channel of zero weights has only its bias.
TEST(QatModule, TinyWeightsKeepTheirBias) {
  manual_seed(8);
  nn::Sequential float_net(nn::Conv2d(1, 4, 3), nn::BatchNorm2d(4), nn::ReLU(), nn::Flatten(),
                           nn::Linear(144, 3));
  {
    const NoGrad guard;
    float_net.get_parameter("1.weight").copy_(tensor({1e-9F, 1e-7F, 1.0F, 1.0F}));
    float_net.get_parameter("1.bias").copy_(tensor({0.5F, 0.75F, 0.25F, 0.625F}));
    float_net.get_parameter("0.weight").slice(0, 3, 4).fill_(0);
    float_net.get_parameter("4.weight").slice(0, 0, 1).fill_(0);
    float_net.get_parameter("4.bias").copy_(tensor({0.7F, -0.2F, 3.0F}));
  }
  for (bool lsq : {false, true}) {
    QatOptions options;
    options.learn_scales = lsq;
    QatModule net(test::graph_of(float_net, {1, 1, 8, 8}), options);
    const test::Patterns data(32, 1);
    const NoGrad guard;
    net.train(), net.freeze_batch_norm();
    net(data.x), net(data.x);
    float_net.eval(), net.eval();
    const Tensor error = abs(net(data.x) - float_net(data.x)).amax({0});
    const std::vector<float> worst = error.to_vector<float>();
    std::printf("worst by output: %g %g %g\n", worst[0], worst[1], worst[2]);
    for (float e : worst) EXPECT_LT(e, 0.15);
    EXPECT_EQ(test::differing(net(data.x), test::interpret(net.convert(), data.x)), 0);
  }
}

TEST(QatModule, BadDataIsAnErrorThatNamesTheValue) {
  const test::Patterns data(16, 1);
  QatModule net(small_graph());
  net.eval();
  EXPECT_THAT(test::error_of([&] { net(data.x); }),
              testing::AllOf(testing::HasSubstr("nothing was observed yet"),
                             testing::HasSubstr("qat_module_test.cc")));
  net.train();
  Tensor bad = data.x.clone();
  bad.mutable_data<float>()[100] = std::numeric_limits<float>::quiet_NaN();
  EXPECT_THAT(test::error_of([&] { net(bad); }), testing::HasSubstr("NaN in image"));
  bad.mutable_data<float>()[100] = std::numeric_limits<float>::infinity();
  EXPECT_THAT(test::error_of([&] { net(bad); }),
              testing::AllOf(testing::HasSubstr("infinity in image (image_fake_quantize) of ["),
                             testing::HasSubstr("what reads them float: Recipe::skip c1")));
  // nothing moved
  EXPECT_GT(buffers(net, "image_range").begin()->second[0], 0);
  net.freeze_observers();
  EXPECT_THAT(test::error_of([&] { net(data.x); }), testing::HasSubstr("nothing was observed yet"));
  EXPECT_THAT(test::error_of([&] { net(zeros({2, 8, 8})); }), testing::HasSubstr("image"));
  net.freeze_observers(false);
  // of constants alone a range is made too
  net(zeros({2, 1, 8, 8}));
  EXPECT_EQ(buffers(net, "image_scale").begin()->second[0], 1);
  net.eval();
  for (float v : net(zeros({2, 1, 8, 8})).to_vector<float>()) EXPECT_TRUE(std::isfinite(v));
}

}  // namespace
}  // namespace wick
