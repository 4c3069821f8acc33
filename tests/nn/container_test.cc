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
  EXPECT_NE(message([&] { list(h); }).find("has no forward(x)"), std::string::npos);

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
