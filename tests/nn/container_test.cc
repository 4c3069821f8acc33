// Containers: names, order, access, what is refused.
#include "tests/nn/goldens.h"

namespace wick {
namespace {

std::vector<std::string> keys(const nn::Module& m) {
  std::vector<std::string> k;
  for (auto& [name, t] : m.state_dict()) k.push_back(name);
  return k;
}
template <class F>
std::string message(const F& f) {
  try {
    f();
  } catch (const Error& e) {
    return e.what();
  }
  return "no error";
}

// Members written as PyTorch's users write them: each is the layer that its own constructor makes.
TEST(Child, TakesOptionsInBraces) {
  struct Net : nn::Module {
    nn::Child<nn::Conv1d> c1{this, "c1", 8, 8, 3, {.padding = "same"}};
    nn::Child<nn::Conv2d> c2{this, "c2", 3, 8, 3, {.stride = 2, .padding = 1}};
    nn::Child<nn::Conv2d> wide{this, "wide", 8, 8, {3, 5}, {.padding = {1, 2}, .bias = false}};
    nn::Child<nn::ConvTranspose2d> up{this, "up", 8, 4, 4, {.stride = 2, .padding = 1}};
    nn::Child<nn::GRU> gru{this, "gru", 4, 6, {.num_layers = 2, .bidirectional = true}};
    nn::Child<nn::Upsample> larger{this, "larger", {.scale_factor = {2}, .mode = "bilinear"}};
    nn::Child<nn::LayerNorm> norm{this, "norm", 12, {.eps = 1e-3}};
    nn::Child<nn::Embedding> table{this, "table", 10, 4, {.padding_idx = 0}};
    nn::Child<nn::MultiheadAttention> heads{this, "heads", 12, 3, {.bias = false}};
    nn::Child<nn::TransformerEncoderLayer> layer{this, "layer", 12, 3, {.dim_feedforward = 16}};
  } net;
  const std::vector<std::shared_ptr<nn::Module>> want = {
      std::make_shared<nn::Conv1d>(8, 8, 3, nn::Conv1dOptions{.padding = "same"}),
      std::make_shared<nn::Conv2d>(3, 8, 3, nn::Conv2dOptions{.stride = 2, .padding = 1}),
      std::make_shared<nn::Conv2d>(8, 8, Pair{3, 5},
                                   nn::Conv2dOptions{.padding = {1, 2}, .bias = false}),
      std::make_shared<nn::ConvTranspose2d>(8, 4, 4,
                                            nn::ConvTranspose2dOptions{.stride = 2, .padding = 1}),
      std::make_shared<nn::GRU>(4, 6, nn::RnnOptions{.num_layers = 2, .bidirectional = true}),
      std::make_shared<nn::Upsample>(InterpolateOptions{.scale_factor = {2}, .mode = "bilinear"}),
      std::make_shared<nn::LayerNorm>(12, nn::LayerNormOptions{.eps = 1e-3}),
      std::make_shared<nn::Embedding>(10, 4, nn::EmbeddingOptions{.padding_idx = 0}),
      std::make_shared<nn::MultiheadAttention>(12, 3, nn::MultiheadAttentionOptions{.bias = false}),
      std::make_shared<nn::TransformerEncoderLayer>(12, 3,
                                                    nn::TransformerOptions{.dim_feedforward = 16})};
  ASSERT_EQ(net.children().size(), want.size());
  for (size_t i = 0; i < want.size(); ++i) {
    EXPECT_EQ(net.children()[i].second->repr(), want[i]->repr());
    EXPECT_EQ(keys(*net.children()[i].second), keys(*want[i]));
  }
}

TEST(Containers, Sequential) {
  nn::Sequential seq(nn::Linear(3, 4), nn::ReLU());
  seq.append(nn::Linear(4, 2, false)).push_back("last", std::make_shared<nn::Softmax>(1));
  EXPECT_EQ(seq.size(), 4);
  EXPECT_EQ(keys(seq), (std::vector<std::string>{"0.weight", "0.bias", "2.weight"}));
  EXPECT_EQ(seq[0].extra_repr(), "in_features=3, out_features=4, bias=True");
  EXPECT_EQ(&seq[-1], &seq[3]);
  EXPECT_EQ(seq.at<nn::Linear>(2).weight.raw_shape(), (Shape{2, 4}));
  EXPECT_EQ(message([&] { seq[4]; }), "[Sequential] index 4 of 4 entries");
  EXPECT_EQ(message([&] { seq.at<nn::ReLU>(0); }), "[Sequential] entry 0 is of another class");
  std::string kinds;
  for (nn::Module& m : seq) kinds += std::string(m.kind()) + " ";
  EXPECT_EQ(kinds, "Linear ReLU Linear Softmax ");
  Tensor y = seq(ones({2, 3}));
  EXPECT_NEAR(sum(y).item(), 2, 1e-6);
  auto taken = std::make_shared<nn::ReLU>();
  seq.append(taken);
  EXPECT_NE(message([&] { seq.append(taken); }).find("already has a parent"), std::string::npos);
  EXPECT_TRUE(equal(nn::Sequential()(y), y));  // nothing: the identity
}

TEST(Containers, ModuleListAndDict) {
  nn::ModuleList list(nn::Linear(2, 2), nn::Linear(2, 2));
  list.append(nn::Tanh());
  Tensor h = ones({1, 2});
  for (nn::Module& m : list) h = m(h);
  EXPECT_EQ(list.size(), 3);
  EXPECT_EQ(keys(list).size(), 4u);
  EXPECT_EQ(keys(list)[2], "1.weight");
  EXPECT_NE(message([&] { list(h); }).find("[ModuleList] has no forward(x): call it with"),
            std::string::npos);

  nn::ModuleDict dict(
      {{"conv", std::make_shared<nn::Conv2d>(1, 1, 1)}, {"act", std::make_shared<nn::ReLU>()}});
  EXPECT_EQ(dict.keys(), (std::vector<std::string>{"conv", "act"}));
  EXPECT_TRUE(dict.contains("act"));
  EXPECT_FALSE(dict.contains("pool"));
  EXPECT_EQ(std::string(dict["act"].kind()), "ReLU");
  EXPECT_EQ(keys(dict), (std::vector<std::string>{"conv.weight", "conv.bias"}));
  EXPECT_EQ(message([&] { dict["pool"]; }), "[ModuleDict] has no 'pool': there are conv, act");
}

TEST(Containers, Parameters) {
  nn::ParameterList list({ones({2}), zeros({3})});
  list.append(ones({1}));
  EXPECT_EQ(list.size(), 3);
  EXPECT_EQ(keys(list), (std::vector<std::string>{"0", "1", "2"}));
  EXPECT_TRUE(list[-1].requires_grad());
  EXPECT_EQ(message([&] { list[3]; }), "[ParameterList] index 3 of 3 entries");
  double total = 0;
  for (const Tensor& p : list) total += sum(p).item();
  EXPECT_EQ(total, 3);

  nn::ParameterDict dict({{"left", ones({2})}});
  dict.insert("right", zeros({2}));
  EXPECT_EQ(dict.keys(), (std::vector<std::string>{"left", "right"}));
  EXPECT_EQ(dict["right"].raw_shape(), (Shape{2}));
  EXPECT_TRUE(dict.contains("left"));
  EXPECT_NE(message([&] { dict["up"]; }).find("has no 'up'"), std::string::npos);
  EXPECT_NE(message([&] { dict.insert("left", ones({2})); }).find("already taken"),
            std::string::npos);
  EXPECT_THROW(dict.insert("none", Tensor()), Error);
}

}  // namespace
}  // namespace wick
