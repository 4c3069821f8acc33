// Masks as torch.nn.utils.prune's, on the same numbers.
#include <gmock/gmock.h>

#include <limits>

#include "tests/modules/goldens.h"
#include "tests/support/error_of.h"

namespace wick {
namespace {

namespace prune = nn::prune;
using test::error_of;
using testing::ElementsAre;
using testing::HasSubstr;

TEST(Prune, MasksArePyTorchs) {
  nn::Linear m = golden_linear(6, 5);
  expect_golden(prune::l1_unstructured(m, "weight", 0.3), "l1_30");
  EXPECT_THAT(keys(m.state_dict()), ElementsAre("bias", "weight_orig", "weight_mask"));
  // Again: half of what is left; then slices.
  expect_golden(prune::l1_unstructured(m, "weight", 0.5), "l1_again");
  expect_golden(prune::ln_structured(m, "weight", 2, 2, 1), "l1_then_ln");
  expect_golden(m(number({2, 6}, 3)), "l1_then_ln_forward");

  m = golden_linear(6, 5);
  expect_golden(prune::l1_unstructured(m, "weight", 0.75), "l1_half_even");
  m = golden_linear(6, 5);
  expect_golden(prune::l1_unstructured(m, "weight", 7), "l1_count");
  m = golden_linear(6, 5);
  expect_golden(prune::ln_structured(m, "weight", 0.4, 2, 0), "ln2_dim0");
  m = golden_linear(6, 5);
  expect_golden(prune::ln_structured(m, "weight", 0.5, 1, -1), "ln1_dim_last");
  m = golden_linear(6, 5);
  expect_golden(prune::ln_structured(m, "weight", 1, std::numeric_limits<double>::infinity(), 0),
                "lninf_dim0");
}

TEST(Prune, GlobalMasksArePyTorchs) {
  nn::Linear a = golden_linear(6, 5), b = golden_linear(5, 3);
  {
    NoGrad guard;
    b.weight.copy_(number({3, 5}, 12) * 0.5);
  }
  prune::global_unstructured({{&a, "weight"}, {&b, "weight"}}, 0.35);
  expect_golden(a.get_buffer("weight_mask"), "global_a");
  expect_golden(b.get_buffer("weight_mask"), "global_b");
  prune::global_unstructured({{&a, "weight"}, {&b, "weight"}}, 5);
  expect_golden(a.get_buffer("weight_mask"), "global_again_a");
  expect_golden(b.get_buffer("weight_mask"), "global_again_b");
  Tensor y = a(number({2, 6}, 3));
  sum(y * y).backward();
  expect_golden(a.get_parameter("weight_orig").grad(), "masked_grad");
}

TEST(Prune, RemoveLeavesTheZeros) {
  nn::Linear m = golden_linear(6, 5);
  prune::l1_unstructured(m, "weight", 0.9);
  EXPECT_TRUE(prune::is_pruned(m));
  EXPECT_DOUBLE_EQ(prune::measure_sparsity(m), 0.9);
  Tensor x = number({2, 6}, 3), y = m(x);
  prune::remove(m, "weight");
  EXPECT_FALSE(prune::is_pruned(m));
  EXPECT_THAT(keys(m.state_dict()), ElementsAre("bias", "weight"));
  EXPECT_EQ(m(x).to_vector<double>(), y.to_vector<double>());
  EXPECT_DOUBLE_EQ(prune::measure_sparsity(m), 0.9);
  EXPECT_DOUBLE_EQ(prune::measure_sparsity(m.weight), 0.9);
  EXPECT_TRUE(m.weight.requires_grad());
  EXPECT_THAT(error_of([&] { prune::remove(m, "weight"); }), HasSubstr("'weight' is not pruned"));
}

// Training under a mask: what is masked stays zero, and its original gets no gradient.
TEST(Prune, MaskedWeightsStayZeroInTraining) {
  manual_seed(9);
  nn::Sequential net(nn::Linear(4, 8), nn::ReLU(), nn::Linear(8, 1));
  prune::global_unstructured(prune::prunable(net), 0.5);
  EXPECT_EQ(prune::prunable(net).size(), 2u);
  optim::SGD sgd(net.parameters(), {.lr = 0.1});
  Tensor x = randn({16, 4}), target = sum(x, 1, true);
  double first = 0, last = 0;
  for (int i = 0; i < 50; ++i) {
    Tensor loss = mse_loss(net(x), target);
    (i == 0 ? first : last) = loss.item();
    sgd.zero_grad();
    loss.backward();
    sgd.step();
  }
  EXPECT_LT(last, first / 2);
  net(x);
  EXPECT_DOUBLE_EQ(prune::measure_sparsity(net), 0.5);
}

TEST(Prune, RandomMasksComeFromTheSeedAlone) {
  auto mask = [](uint64_t seed) {
    Generator g;
    g.manual_seed(seed);
    nn::Linear m = golden_linear(6, 5);
    return prune::random_unstructured(m, "weight", 0.4, g).to_vector<double>();
  };
  EXPECT_EQ(mask(1), mask(1));
  EXPECT_NE(mask(1), mask(2));
  std::vector<double> one = mask(1);
  EXPECT_EQ(std::count(one.begin(), one.end(), 0.0), 12);
  nn::Linear m = golden_linear(6, 5);
  Tensor rows = sum(prune::random_structured(m, "weight", 2, 0), 1);
  std::vector<double> left = rows.to_vector<double>();
  EXPECT_EQ(std::count(left.begin(), left.end(), 0.0), 2);
  EXPECT_EQ(std::count(left.begin(), left.end(), 6.0), 3);
}

TEST(Prune, ErrorsNameTheAmount) {
  nn::Linear m = golden_linear(6, 5);
  EXPECT_THAT(error_of([&] { prune::l1_unstructured(m, "weight", 1.5); }),
              HasSubstr("[l1_unstructured] amount must be in [0, 1], got 1.5"));
  EXPECT_THAT(error_of([&] { prune::l1_unstructured(m, "weight", NAN); }),
              HasSubstr("amount must be in [0, 1]"));
  EXPECT_THAT(error_of([&] { prune::l1_unstructured(m, "weight", 31); }),
              HasSubstr("amount is 31, there are 30 to prune"));
  EXPECT_THAT(error_of([&] { prune::l1_unstructured(m, "weight", -1); }), HasSubstr("is -1"));
  EXPECT_THAT(error_of([&] { prune::l1_unstructured(m, "gain", 1); }),
              HasSubstr("no parameter 'gain'"));
  EXPECT_THAT(error_of([&] { prune::ln_structured(m, "bias", 1, 2, 0); }),
              HasSubstr("slices need two"));
  EXPECT_THAT(error_of([&] { prune::ln_structured(m, "weight", 1, 2, 2); }),
              HasSubstr("no dimension 2 in [5,6]"));
  EXPECT_THAT(error_of([&] {
                prune::custom_from_mask(m, "weight", ones({5, 5}));
              }),
              HasSubstr("the mask is [5,5], 'weight' is [5,6]"));
  EXPECT_THAT(error_of([&] {
                prune::custom_from_mask(m, "weight", full({5, 6}, 0.5));
              }),
              HasSubstr("made of ones and zeros"));
  EXPECT_THAT(error_of([&] { prune::global_unstructured({}, 0.5); }), HasSubstr("no parameters"));
  EXPECT_FALSE(prune::is_pruned(m));
  EXPECT_THAT(keys(m.state_dict()), ElementsAre("weight", "bias"));
}

}  // namespace
}  // namespace wick
