#include <gmock/gmock.h>

#include "tests/modules/goldens.h"
#include "tests/support/error_of.h"

namespace wick {
namespace {

using test::error_of;
using testing::ElementsAre;
using testing::HasSubstr;

struct Net : nn::Module {
  nn::Child<nn::Linear> fc1{this, "fc1", 6, 8};
  nn::Child<nn::Linear> fc2{this, "fc2", 8, 3};
  Tensor forward(const Arg& x) override { return fc2(tanh(fc1(x))); }
};

TEST(Lora, LearnsBesideAFrozenModel) {
  manual_seed(7);
  Net net;
  Tensor x = randn({16, 6}), target = randn({16, 3}), before = net(x);
  const std::string weights = state_sha256(net.state_dict());
  nn::LoraOptions o;
  o.rank = 2;
  o.alpha = 4;
  EXPECT_EQ(nn::add_lora(net, o), 2);
  EXPECT_EQ(net(x).to_vector<float>(), before.to_vector<float>());  // B is zero
  EXPECT_THAT(keys(net.state_dict()),
              ElementsAre("fc1.base_layer.weight", "fc1.base_layer.bias", "fc1.lora_A.weight",
                          "fc1.lora_B.weight", "fc2.base_layer.weight", "fc2.base_layer.bias",
                          "fc2.lora_A.weight", "fc2.lora_B.weight"));
  EXPECT_EQ(nn::count_parameters(net, true), 2 * (6 + 8) + 2 * (8 + 3));
  EXPECT_THAT(keys(nn::lora_state_dict(net)),
              ElementsAre("fc1.lora_A.weight", "fc1.lora_B.weight", "fc2.lora_A.weight",
                          "fc2.lora_B.weight"));
  std::vector<Tensor> trained;
  for (const Tensor& p : net.parameters()) {
    if (p.requires_grad()) trained.push_back(p);
  }
  optim::Adam adam(trained, {.lr = 0.02});
  double first = 0, last = 0;
  for (int i = 0; i < 150; ++i) {
    Tensor loss = mse_loss(net(x), target);
    (i == 0 ? first : last) = loss.item();
    adam.zero_grad();
    loss.backward();
    adam.step();
  }
  EXPECT_LT(last, first * 0.6);
  EXPECT_FALSE(net.get_parameter("fc1.base_layer.weight").grad().defined());

  // Merged, unmerged, and the plain model again: one function.
  Tensor learned = net(x);
  auto& layer = dynamic_cast<nn::LoraLinear&>(net.get_submodule("fc1"));
  auto near = [&](const Tensor& y) { EXPECT_LE(max(abs(y - learned)).item(), 2e-6); };
  layer.merge();
  near(net(x));
  EXPECT_THAT(error_of([&] { layer.merge(); }), HasSubstr("in the weight already"));
  layer.unmerge();
  near(net(x));
  EXPECT_THAT(error_of([&] { layer.unmerge(); }), HasSubstr("not in the weight"));
  EXPECT_EQ(nn::merge_lora(net), 2);
  near(net(x));
  EXPECT_THAT(keys(net.state_dict()),
              ElementsAre("fc1.weight", "fc1.bias", "fc2.weight", "fc2.bias"));
  EXPECT_NE(state_sha256(net.state_dict()), weights);
  EXPECT_EQ(&net.get_submodule("fc1"), &*net.fc1);
  EXPECT_THAT(error_of([&] { nn::merge_lora(net); }), HasSubstr("no LoraLinear"));
}

TEST(Lora, IsWPlusTheScaledProduct) {
  manual_seed(8);
  Net net;
  nn::LoraOptions o;
  o.rank = 3;
  o.alpha = 6;
  o.targets = {"fc2"};
  nn::add_lora(net, o);
  auto& layer = dynamic_cast<nn::LoraLinear&>(net.get_submodule("fc2"));
  NoGrad guard;
  layer.lora_b.copy_(randn({3, 3}));
  Tensor x = randn({4, 8});
  Tensor want = linear(x, net.fc2->weight + matmul(layer.lora_b, layer.lora_a) * 2, net.fc2->bias);
  EXPECT_LE(max(abs(layer(x) - want)).item(), 2e-6);
  EXPECT_TRUE(net.fc1->weight.requires_grad() == false);  // frozen though no target
}

TEST(Lora, RefusesWhatMakesNoSense) {
  Net net;
  nn::LoraOptions o;
  o.targets = {"head"};
  EXPECT_THAT(error_of([&] { nn::add_lora(net, o); }), HasSubstr("no Linear layer"));
  o.targets = {};
  o.rank = 4;
  EXPECT_THAT(error_of([&] { nn::add_lora(net, o); }),
              HasSubstr("rank 4 for a weight [3,8]: 1 to 3"));
  EXPECT_EQ(net.state_dict().size(), 4u);  // nothing was changed
  EXPECT_TRUE(net.fc1->weight.requires_grad());
  o.rank = 1;
  o.dropout = 1;
  EXPECT_THAT(error_of([&] { nn::add_lora(net, o); }), HasSubstr("dropout must be in [0, 1)"));
  o.dropout = 0;
  o.alpha = NAN;
  EXPECT_THAT(error_of([&] { nn::add_lora(net, o); }), HasSubstr("alpha is not a number"));
}

}  // namespace
}  // namespace wick
