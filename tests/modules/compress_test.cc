// Channels removed, matrices factored, a teacher's probabilities learnt.
#include <gmock/gmock.h>

#include <filesystem>

#include "tests/modules/goldens.h"
#include "tests/support/error_of.h"
#include "tests/support/temp_folder.h"

namespace wick {
namespace {

using test::error_of;
using testing::ElementsAre;
using testing::HasSubstr;

nn::Conv2dOptions padded() {
  nn::Conv2dOptions o;
  o.padding = 1;
  return o;
}

std::shared_ptr<nn::Sequential> small_cnn() {
  manual_seed(11);
  auto net = std::make_shared<nn::Sequential>(
      nn::Conv2d(1, 12, 3, padded()), nn::BatchNorm2d(12), nn::ReLU(), nn::MaxPool2d(2),
      nn::Conv2d(12, 8, 3, padded()), nn::ReLU(), nn::Flatten(), nn::Linear(8 * 4 * 4, 20),
      nn::ReLU(), nn::Dropout(0.2), nn::Linear(20, 5));
  NoGrad guard;
  for (int i = 0; i < 3; ++i) (*net)(randn({8, 1, 8, 8}));  // statistics that are not 0 and 1
  net->get_parameter("1.weight").copy_(rand({12}) + 0.5);
  net->get_parameter("1.bias").copy_(randn({12}));
  return net;
}

TEST(StructuredPrune, RemovesChannelsForGood) {
  auto net = small_cnn(), masked = small_cnn();
  masked->load_state_dict(net->state_dict());
  net->eval();
  masked->eval();
  const int64_t before = nn::count_parameters(*net);
  auto plan = nn::plan_channels(*net, 0.5);
  ASSERT_EQ(plan.size(), 3u);
  EXPECT_EQ(plan[0].layer, "0");
  EXPECT_THAT(plan[0].norms, ElementsAre("1"));
  EXPECT_EQ(plan[0].next, "4");
  EXPECT_EQ(plan[1].next, "7");
  EXPECT_EQ(plan[2].keep.size(), 10u);
  // The channels with the greatest L2 norm stay.
  std::vector<float> norms =
      linalg::vector_norm(net->get_parameter("0.weight").detach().flatten(1), 2, 1)
          .to_vector<float>();
  float least_kept = 1e9f, most_dropped = 0;
  for (int64_t c = 0; c < 12; ++c) {
    bool kept = std::count(plan[0].keep.begin(), plan[0].keep.end(), c) > 0;
    float v = norms[static_cast<size_t>(c)];
    kept ? least_kept = std::min(least_kept, v) : most_dropped = std::max(most_dropped, v);
  }
  EXPECT_GT(least_kept, most_dropped);

  nn::zero_channels(*masked, plan);
  nn::remove_channels(*net, plan);
  Tensor x = randn({4, 1, 8, 8});
  Tensor small = (*net)(x), whole = (*masked)(x);
  EXPECT_LE(max(abs(small - whole)).item(), 1e-5 * max(abs(whole)).item());
  EXPECT_EQ(net->get_parameter("0.weight").raw_shape(), (Shape{6, 1, 3, 3}));
  EXPECT_EQ(net->get_parameter("1.bias").raw_shape(), (Shape{6}));
  EXPECT_EQ(net->get_buffer("1.running_var").raw_shape(), (Shape{6}));
  EXPECT_EQ(net->get_parameter("4.weight").raw_shape(), (Shape{4, 6, 3, 3}));
  EXPECT_EQ(net->get_parameter("7.weight").raw_shape(), (Shape{10, 64}));
  EXPECT_EQ(net->get_parameter("10.weight").raw_shape(), (Shape{5, 10}));
  EXPECT_LT(nn::count_parameters(*net), before / 3);
  // The file is smaller; the masked model's is not.
  const std::string dir = wick::test::temp_folder();
  save_safetensors(dir + "small.safetensors", net->state_dict());
  save_safetensors(dir + "masked.safetensors", masked->state_dict());
  EXPECT_LT(std::filesystem::file_size(dir + "small.safetensors"),
            std::filesystem::file_size(dir + "masked.safetensors") / 2);
  // It still trains.
  net->train();
  optim::SGD sgd(net->parameters(), {.lr = 0.05});
  sum((*net)(x)).backward();
  sgd.step();
  EXPECT_THAT(error_of([&] { nn::remove_channels(*net, plan); }),
              HasSubstr("the plan is for 12 channels, '0' has 6"));
}

TEST(StructuredPrune, StopsAtWhatDoesNotKeepZero) {
  nn::Sequential net(nn::Linear(4, 8), nn::Sigmoid(), nn::Linear(8, 8), nn::ReLU(),
                     nn::Linear(8, 2));
  auto plan = nn::structured_prune(net, 3);
  ASSERT_EQ(plan.size(), 1u);  // 0.5 behind a Sigmoid is no zero
  EXPECT_EQ(plan[0].layer, "2");
  EXPECT_EQ(net.get_parameter("2.weight").raw_shape(), (Shape{5, 8}));
  // One channel stays whatever is asked for.
  nn::structured_prune(net, 1.0);
  EXPECT_EQ(net.get_parameter("2.weight").raw_shape(), (Shape{1, 8}));
  EXPECT_EQ(net(ones({1, 4})).raw_shape(), (Shape{1, 2}));
  nn::Sequential none(nn::Linear(4, 8), nn::Sigmoid(), nn::Linear(8, 2));
  EXPECT_THAT(error_of([&] { nn::structured_prune(none, 0.5); }),
              HasSubstr("[plan_channels] no two layers"));
  // Depthwise: its channels are its neighbours' too.
  nn::Conv2dOptions depthwise = padded();
  depthwise.groups = 6;
  nn::Sequential mobile(nn::Conv2d(1, 6, 3), nn::ReLU(), nn::Conv2d(6, 6, 3, depthwise), nn::ReLU(),
                        nn::Conv2d(6, 4, 1));
  EXPECT_THAT(error_of([&] { nn::plan_channels(mobile, 0.5); }), HasSubstr("no two layers"));
  nn::Sequential two(nn::Linear(4, 8), nn::Linear(8, 2));
  EXPECT_THAT(error_of([&] { nn::structured_prune(two, 2.0); }), HasSubstr("amount must be in"));
}

// A channel may be removed only if it is zero: the outputs of a grouped convolution are removed by
// whole groups or not at all, and a norm without a weight turns a zero into -mean / std.
TEST(StructuredPrune, LeavesGroupsAndPlainNormsAlone) {
  manual_seed(11);
  nn::Sequential net(nn::Conv2d(2, 8, 3), nn::Tanh(), nn::Conv2d(8, 8, 1),
                     nn::BatchNorm2d(8, 1e-5, 0.1, false), nn::Conv2d(8, 8, 1, {.groups = 2}),
                     nn::Tanh(), nn::Conv2d(8, 3, 1));
  const Tensor x = randn({2, 2, 5, 5});
  net(x);  // statistics that are not 0
  net.eval();
  const auto plan = nn::plan_channels(net, 0.5);
  ASSERT_EQ(plan.size(), 1u);
  EXPECT_EQ(plan[0].layer, "0");
  EXPECT_EQ(plan[0].next, "2");
  nn::zero_channels(net, plan);
  const Tensor whole = net(x);
  nn::remove_channels(net, plan);
  EXPECT_LE(max(abs(net(x) - whole)).item(), 1e-6);
}

TEST(LowRank, TheErrorIsTheSingularValuesLeftOut) {
  manual_seed(12);
  Tensor w = randn({12, 9}, DType::kF64);
  std::vector<double> s = linalg::svdvals(w).to_vector<double>();
  for (int64_t k : {1, 4, 8, 9}) {
    nn::LowRank r = nn::low_rank_approximate(w, k);
    EXPECT_EQ(r.left.raw_shape(), (Shape{12, k}));
    EXPECT_EQ(r.right.raw_shape(), (Shape{k, 9}));
    double rest = 0;
    for (size_t i = static_cast<size_t>(k); i < s.size(); ++i) rest += s[i] * s[i];
    EXPECT_NEAR(r.error, std::sqrt(rest), 1e-12);
    EXPECT_NEAR(norm(w - matmul(r.left, r.right)).item(), std::sqrt(rest), 1e-12);
  }
  EXPECT_THAT(error_of([&] { nn::low_rank_approximate(w, 10); }),
              HasSubstr("rank 10 of [12,9]: 1 to 9"));
  EXPECT_THAT(error_of([&] { nn::low_rank_approximate(w, 0); }), HasSubstr("rank 0"));
  EXPECT_THAT(error_of([&] { nn::low_rank_approximate(ones({3}), 1); }),
              HasSubstr("expected a matrix, got [3]"));
}

TEST(LowRank, HelpsBelowTheHarmonicBound) {
  // k < 64 * 32 / 96 = 21.33
  EXPECT_TRUE(nn::low_rank_helps(64, 32, 21));
  EXPECT_FALSE(nn::low_rank_helps(64, 32, 22));
  for (int64_t k : {21, 22}) {
    nn::Sequential net(nn::Linear(32, 64));
    const int64_t before = nn::count_parameters(net);
    nn::low_rank_linear(net, "0", k);
    EXPECT_EQ(nn::count_parameters(net) < before, nn::low_rank_helps(64, 32, k)) << k;
  }
}

TEST(LowRank, FullRankKeepsTheFunction) {
  manual_seed(13);
  struct Net : nn::Module {
    nn::Child<nn::Linear> fc{this, "fc", 6, 4};
    Tensor forward(const Arg& x) override { return relu(fc(x)); }
  } net;
  Tensor x = randn({5, 6}), y = net(x);
  EXPECT_NEAR(nn::low_rank_linear(net, "fc", 4), 0, 1e-6);
  EXPECT_LE(max(abs(net(x) - y)).item(), 2e-6);  // through the Child member
  EXPECT_THAT(keys(net.state_dict()), ElementsAre("fc.0.weight", "fc.1.weight", "fc.1.bias"));
  EXPECT_THAT(error_of([&] { nn::low_rank_linear(net, "fc", 2); }), HasSubstr("no plain Linear"));
}

TEST(Compress, ReportsWhatItDid) {
  manual_seed(14);
  nn::Sequential net(nn::Linear(40, 60), nn::ReLU(), nn::Linear(60, 30), nn::ReLU(),
                     nn::Linear(30, 10));
  {
    NoGrad guard;  // a matrix of rank 3 and a little more
    net.get_parameter("0.weight")
        .copy_(matmul(randn({60, 3}), randn({3, 40})) + randn({60, 40}) * 1e-3);
  }
  nn::CompressOptions o;
  o.channels = 0.25;
  o.rank_energy = 0.999;
  o.magnitude = 0.5;
  nn::CompressReport r = nn::compress_model(net, o);
  EXPECT_EQ(r.parameters_before, 40 * 60 + 60 + 60 * 30 + 30 + 30 * 10 + 10);
  EXPECT_EQ(r.parameters_after, nn::count_parameters(net));
  // 45 of 60 and 22 of 30 channels; 0.weight in two factors of rank 3
  EXPECT_EQ(r.parameters_after, 40 * 3 + 3 * 45 + 45 + 45 * 22 + 22 + 22 * 10 + 10);
  EXPECT_EQ(r.bytes_after, static_cast<uint64_t>(4 * r.parameters_after));
  EXPECT_NEAR(r.sparsity, 0.5, 1e-3);
  EXPECT_LT(r.nonzero_after, r.parameters_after * 6 / 10);
  EXPECT_THAT(r.steps, testing::Contains("0: 45 of 60 channels"));
  EXPECT_THAT(r.steps, testing::Contains("0: rank 3 of 40"));
  EXPECT_THAT(r.text(), HasSubstr("parameters 4600 -> 1542"));
  EXPECT_EQ(net(randn({2, 40})).raw_shape(), (Shape{2, 10}));
  o.rank_energy = 0;
  EXPECT_THAT(error_of([&] { nn::compress_model(net, o); }), HasSubstr("rank_energy must be in"));
}

TEST(WeightDistribution, CountsEveryWeight) {
  nn::Linear m(4, 2);
  m.load_state_dict({{"weight", tensor({{0.f, 1.f, -1.f, 0.001f}, {2.f, 0.f, -2.f, 1.f}})},
                     {"bias", tensor({1.f, 3.f})}});
  auto all = nn::analyze_weight_distribution(m, 4);
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(all[0].name, "weight");
  EXPECT_DOUBLE_EQ(all[0].min, -2);
  EXPECT_DOUBLE_EQ(all[0].max, 2);
  EXPECT_NEAR(all[0].mean, 1.001 / 8, 1e-7);
  EXPECT_NEAR(all[0].mean_abs, 7.001 / 8, 1e-7);
  EXPECT_DOUBLE_EQ(all[0].sparsity, 0.25);
  EXPECT_DOUBLE_EQ(all[0].near_zero, 0.375);
  EXPECT_THAT(all[0].histogram, ElementsAre(1, 1, 3, 3));
  EXPECT_DOUBLE_EQ(all[1].std, std::sqrt(2.0));
}

TEST(Distillation, MatchesPyTorch) {
  Tensor student = number({4, 5}, 13).requires_grad_(), teacher = number({4, 5}, 14);
  Tensor labels = tensor<int64_t>({0, 3, 2, 4});
  for (auto [t, alpha] : {std::pair{3.0, 0.7}, {1.0, 1.0}, {5.0, 0.0}}) {
    student.set_grad(Tensor());
    teacher.requires_grad_();
    Tensor loss = nn::KnowledgeDistillation(t, alpha)(student, teacher, labels);
    loss.backward();
    const std::string key = "distill_" + std::to_string(static_cast<int>(t));
    expect_golden(loss, key + ".0");
    expect_golden(student.grad(), key + ".1");
    EXPECT_FALSE(teacher.grad().defined());
  }
  // The temperature leaves the gradient's size: a student equal to its teacher has none.
  EXPECT_NEAR(nn::KnowledgeDistillation(4, 1).soft_loss(teacher, teacher).item(), 0, 1e-12);
  EXPECT_THAT(error_of([] { nn::KnowledgeDistillation(0); }),
              HasSubstr("temperature must be positive, got 0"));
  EXPECT_THAT(error_of([] { nn::KnowledgeDistillation(NAN); }), HasSubstr("temperature"));
  EXPECT_THAT(error_of([] { nn::KnowledgeDistillation(2, 1.5); }), HasSubstr("alpha must be in"));
  EXPECT_THAT(error_of([&] {
                nn::KnowledgeDistillation()(student, number({4, 6}, 1), labels);
              }),
              HasSubstr("student [4,5], teacher [4,6]"));
}

}  // namespace
}  // namespace wick
