// Deep copies of modules, as copy.deepcopy() makes them.
#include <gmock/gmock.h>

#include "tests/modules/goldens.h"
#include "tests/support/error_of.h"

namespace wick {
namespace {

using nn::copy_of;
using nn::deepcopy;
using test::error_of;
using testing::HasSubstr;
using testing::StartsWith;

struct Block : nn::Module {
  explicit Block(int64_t n) : fc(this, "fc", n, n), norm(std::make_shared<nn::BatchNorm1d>(n)) {
    register_module("norm", norm);
    mask = register_buffer("mask", ones({n}), false);
  }
  Tensor forward(const Arg& x) override { return (*norm)(fc(x)) * mask; }
  nn::Child<nn::Linear> fc;
  std::shared_ptr<nn::BatchNorm1d> norm;  // a member that C++ would copy as a second handle
  Tensor mask;
};
struct Net : nn::Module {
  nn::Child<Block> first{this, "first", 3};
  nn::Child<nn::Dropout> drop{this, "drop", 0.5};
  nn::Child<Block> second{this, "second", 3};
  std::vector<Tensor> scales = {register_parameter("scale", full({3}, 2.))};
  Tensor forward(const Arg& x) override { return second(drop(first(x))) * scales[0]; }
};

std::vector<float> values(const nn::Module& m) {
  std::vector<float> all;
  for (const auto& [name, t] : m.state_dict()) {
    for (float v : t.to(DType::kF32).to_vector<float>()) all.push_back(v);
  }
  return all;
}

TEST(CopyOf, AUsersModuleIsIndependentAndEqual) {
  manual_seed(1);
  Net net;
  net(randn({4, 3}));  // running statistics
  std::shared_ptr<Net> copy = deepcopy(net);
  EXPECT_EQ(values(*copy), values(net));
  EXPECT_EQ(keys(copy->state_dict()), keys(net.state_dict()));
  for (const auto& [name, t] : net.state_dict()) {
    for (const auto& [other, u] : copy->state_dict()) EXPECT_FALSE(t.is_same(u)) << name << other;
  }
  // Members are handles of the copy's own tensors.
  EXPECT_TRUE(copy->first->fc->weight.is_same(copy->get_parameter("first.fc.weight")));
  EXPECT_TRUE(copy->scales[0].is_same(copy->get_parameter("scale")));
  EXPECT_NE(copy->first->norm, net.first->norm);
  net.eval();
  copy->eval();
  Tensor x = randn({2, 3});
  EXPECT_EQ((*copy)(x).to_vector<float>(), net(x).to_vector<float>());
  // A step of one leaves the other as it is.
  const std::vector<float> before = values(net);
  copy->train();
  optim::SGD sgd(copy->parameters(), {.lr = 0.5});
  sum((*copy)(randn({4, 3}))).backward();
  sgd.step();
  EXPECT_EQ(values(net), before);
  EXPECT_NE(values(*copy), before);
  for (const Tensor& p : net.parameters()) EXPECT_FALSE(p.grad().defined());
}

TEST(CopyOf, AFactoryGivesTheConstructorsArguments) {
  nn::Sequential net(nn::Linear(3, 4), nn::ReLU(), nn::Linear(4, 2));
  net.to(DType::kF64);
  nn::Sequential copy =
      copy_of(net, [] { return nn::Sequential(nn::Linear(3, 4), nn::ReLU(), nn::Linear(4, 2)); });
  EXPECT_EQ(copy.get_parameter("0.weight").dtype(), DType::kF64);
  Tensor x = number({5, 3}, 1);
  EXPECT_EQ(copy(x).to_vector<double>(), net(x).to_vector<double>());
  std::shared_ptr<Block> block = std::make_shared<Block>(5);
  std::shared_ptr<Block> second = copy_of(*block, [] { return std::make_shared<Block>(5); });
  EXPECT_EQ(values(*second), values(*block));
  std::shared_ptr<nn::Module> model = nn::lenet();
  EXPECT_EQ(values(*copy_of(*model, nn::lenet)), values(*model));
}

TEST(CopyOf, ModesFlagsAndGradientsAreThoseOfPyTorch) {
  Net net;
  net.first->eval();
  net.requires_grad_("second.", false);
  sum(net(randn({4, 3}))).backward();
  ASSERT_TRUE(net.first->fc->weight.grad().defined());
  Tensor mask = net.get_buffer("first.mask");
  mask.requires_grad_();
  sum(mask * 3).backward();
  std::shared_ptr<Net> copy = deepcopy(net);
  EXPECT_TRUE(copy->training());
  EXPECT_FALSE(copy->first->training());
  EXPECT_FALSE(copy->first->norm->training());
  EXPECT_FALSE(copy->second->fc->weight.requires_grad());
  EXPECT_TRUE(copy->first->fc->weight.requires_grad());
  // Parameter.__deepcopy__ leaves .grad out, Tensor.__deepcopy__ copies it.
  EXPECT_FALSE(copy->first->fc->weight.grad().defined());
  EXPECT_TRUE(copy->first->mask.requires_grad());
  EXPECT_EQ(copy->first->mask.grad().to_vector<float>(), (std::vector<float>{3, 3, 3}));
  mask.grad().zero_();
  EXPECT_EQ(copy->first->mask.grad().to_vector<float>(), (std::vector<float>{3, 3, 3}));
  // A buffer that is not persistent stays one.
  EXPECT_THAT(keys(copy->state_dict()), testing::Not(testing::Contains("first.mask")));
}

TEST(CopyOf, HooksComeAlongAndGetTheCopy) {
  struct Watched : nn::Module {
    Watched() {
      register_forward_pre_hook([this](nn::Module&, const Tensor&) { ++calls; });
    }
    Tensor forward(const Arg& x) override { return x.tensor * w; }
    Tensor w = register_parameter("w", ones({2}));
    int calls = 0;
  } m;
  nn::Module* seen = nullptr;
  HookHandle h = m.register_forward_hook(
      [&](nn::Module& self, const Tensor&, const Tensor&) { seen = &self; });
  int tensor_hooks = 0;
  m.w.register_hook([&](const Tensor&) { ++tensor_hooks; });
  std::shared_ptr<Watched> copy = deepcopy(m);
  (*copy)(ones({2}));
  EXPECT_EQ(seen, copy.get());
  EXPECT_EQ(copy->calls, 1);  // the constructor's hook is the copy's own
  EXPECT_EQ(m.calls, 0);
  h.remove();  // only the first module's
  seen = nullptr;
  m(ones({2}));
  EXPECT_EQ(seen, nullptr);
  sum((*copy)(ones({2}))).backward();
  EXPECT_EQ(seen, copy.get());
  EXPECT_EQ(tensor_hooks, 0);
}

struct Tied : nn::Module {
  explicit Tied(bool tie = true) {
    Tensor w = register_parameter("a", ones({2}));
    register_parameter("b", tie ? w : ones({2}));
  }
};

TEST(CopyOf, TiesAreKept) {
  Tied m;
  std::shared_ptr<Tied> copy = deepcopy(m);
  EXPECT_TRUE(copy->find_tensor("a").is_same(copy->find_tensor("b")));
  EXPECT_FALSE(copy->find_tensor("a").is_same(m.find_tensor("a")));
  EXPECT_THAT(error_of([&] { copy_of(m, [] { return Tied(false); }); }),
              HasSubstr("\n  b is tied to a, there it is not"));
  EXPECT_THAT(error_of([&] { copy_of(Tied(false), [] { return Tied(); }); }),
              HasSubstr("\n  b is not tied to a, there it is"));
  nn::GptOptions o{
      .vocab_size = 8, .embed_dim = 4, .num_layers = 1, .num_heads = 2, .max_seq_len = 6};
  nn::GPT gpt(o);
  nn::GPT other = copy_of(gpt, [&] { return nn::GPT(o); });
  Tensor tokens = tensor({{1, 2, 3}});
  EXPECT_EQ(other(tokens).to_vector<float>(), gpt(tokens).to_vector<float>());
}

TEST(CopyOf, ComputedParametersNeedTheSameInTheFactory) {
  nn::Linear m = golden_linear(5, 4);
  nn::weight_norm(m);
  Tensor x = number({3, 5}, 3), y = m(x);
  auto plain = [] { return nn::Linear(5, 4); };
  EXPECT_THAT(error_of([&] { copy_of(m, plain); }),
              HasSubstr("\n  weight is computed, there it is not"));
  EXPECT_THAT(error_of([&] { copy_of(m, plain); }),
              HasSubstr("\n  'parametrizations' is a ModuleDict, which is not there"));
  nn::Linear copy = copy_of(m, [] {
    nn::Linear l(5, 4);
    nn::weight_norm(l);
    return l;
  });
  EXPECT_EQ(copy.weight.to_vector<double>(), m.weight.to_vector<double>());
  EXPECT_EQ(copy(x).to_vector<double>(), y.to_vector<double>());
  NoGrad guard;
  copy.get_parameter("parametrizations.weight.original0").mul_(2.0);
  EXPECT_EQ(m(x).to_vector<double>(), y.to_vector<double>());
}

TEST(CopyOf, TheGeneratorIsNotAdvanced) {
  manual_seed(9);
  Net net;
  const std::vector<float> want = [] {
    const nn::KeepGenerator keep;
    return randn({4}).to_vector<float>();
  }();
  deepcopy(net);
  copy_of(net, [] { return std::make_shared<Net>(); });
  EXPECT_EQ(randn({4}).to_vector<float>(), want);
}

TEST(CopyOf, EachDifferenceIsTold) {
  nn::Linear m(3, 2);
  EXPECT_THAT(error_of([&] { copy_of(m, [] { return nn::Linear(3, 4); }); }),
              HasSubstr("weight is [2,3], there it is [4,3]\n  bias is [2], there it is [4]"));
  EXPECT_THAT(error_of([&] { copy_of(m, [] { return nn::Linear(3, 2, false); }); }),
              HasSubstr("\n  bias is not there"));
  EXPECT_THAT(error_of([&] { copy_of(m, [] { return nn::ReLU(); }); }),
              HasSubstr("\n  the module itself is a Linear, there it is a ReLU"));
  nn::Sequential net(nn::Linear(3, 2), nn::ReLU());
  EXPECT_THAT(error_of([&] { copy_of(net, [] { return nn::Sequential(nn::Linear(3, 2)); }); }),
              HasSubstr("\n  '1' is a ReLU, which is not there"));
  EXPECT_THAT(error_of([&] {
                copy_of(net, [] {
                  nn::Sequential more(nn::Linear(3, 2), nn::ReLU(), nn::Tanh());
                  more.get_submodule("0").register_buffer("extra", ones({1}));
                  return more;
                });
              }),
              testing::AllOf(HasSubstr("\n  0.extra is there, the module does not have it"),
                             HasSubstr("\n  '2' is a Tanh, which the module does not have")));
  std::shared_ptr<nn::Linear> none;
  EXPECT_THAT(error_of([&] { copy_of(m, [&] { return none; }); }),
              HasSubstr("[copy_of] the factory returned no module (copy_of_test.cc:"));
  auto same = std::make_shared<nn::Linear>(3, 2);
  EXPECT_THAT(error_of([&] { copy_of(*same, [&] { return same; }); }),
              HasSubstr("the module itself is a Linear, the same one in both"));
  // A factory that shares a tensor.
  struct Given : nn::Module {
    explicit Given(const Tensor& t) { register_buffer("t", t); }
  };
  Given given(ones({2}));
  EXPECT_THAT(error_of([&] { copy_of(given, [&] { return Given(given.find_tensor("t")); }); }),
              HasSubstr("t is the same tensor in both"));
  Given made(ones({2}).requires_grad_() * 2);
  EXPECT_THAT(error_of([&] { copy_of(made, [] { return Given(ones({2})); }); }),
              HasSubstr("t has a history: only leaves can be copied"));
  // A base class does not know how to make the derived one.
  struct Wide : Net {};
  Wide wide;
  EXPECT_THAT(error_of([&] { deepcopy(static_cast<const Net&>(wide)); }),
              StartsWith("[deepcopy] the module is a Wide"));
}

}  // namespace
}  // namespace wick
