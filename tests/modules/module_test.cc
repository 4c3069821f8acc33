// nn::Module: names, walks, text, state dicts, replaced children.
#include <gmock/gmock.h>

#include <chrono>

#include "tests/modules/goldens.h"
#include "tests/support/error_of.h"
#include "tests/support/where.h"

namespace wick {
namespace {

using test::error_of;
using testing::ElementsAre;
using testing::HasSubstr;

struct Affine : nn::Module {
  explicit Affine(int64_t n) : n(n) {}
  std::string extra_repr() const override { return "n=" + std::to_string(n); }
  int64_t n;
};
struct Plain : nn::Module {};
struct TwoLines : nn::Module {
  explicit TwoLines(bool child) {
    if (child) register_module("inner", std::make_shared<Affine>(3));
  }
  std::string extra_repr() const override { return "first=1\nsecond=2"; }
};
struct Block : nn::Module {
  nn::Child<Affine> fc{this, "fc", 7};
  nn::Child<Plain> act{this, "act"};
};
struct Net : nn::Module {
  nn::Child<Affine> stem{this, "stem", 1};
  nn::Child<Block> block{this, "block"};
  nn::Child<TwoLines> lines{this, "lines", true};
  nn::Child<TwoLines> alone{this, "alone", false};
  std::string extra_repr() const override { return "depth=2"; }
};

TEST(Module, PrintsAsPyTorch) {
  std::ifstream file(source_dir("/tests/modules/goldens/repr.txt"));
  std::stringstream want;
  want << file.rdbuf();
  std::ostringstream got;
  got << Net() << "\n";
  EXPECT_EQ(got.str(), want.str());
  EXPECT_STREQ(Net().kind(), "Net");
}

struct Inner : nn::Module {
  nn::Child<nn::Linear> fc{this, "fc", 3, 3};
  nn::Child<nn::BatchNorm2d> bn{this, "bn", 3};
  Tensor forward(const Arg& x) override { return fc(x); }
};
struct Outer : nn::Module {
  Outer() { mask = register_buffer("mask", ones({3}), false); }
  nn::Child<nn::Linear> fc1{this, "fc1", 2, 3};
  nn::Child<Inner> inner{this, "inner"};
  Tensor mask;
  Tensor forward(const Arg& x) override { return inner(relu(fc1(x))) * mask; }
};

TEST(Module, WalksNamesAsPyTorchDoes) {
  Outer net;
  std::vector<std::string> names;
  for (const auto& [name, m] : net.named_modules()) names.push_back(name);
  EXPECT_THAT(names, ElementsAre("", "fc1", "inner", "inner.fc", "inner.bn"));
  EXPECT_EQ(net.named_modules("net")[3].first, "net.inner.fc");
  EXPECT_EQ(net.named_modules("net")[0].first, "net");
  EXPECT_EQ(net.modules().size(), 5u);
  EXPECT_EQ(net.modules()[1], &*net.fc1);
  EXPECT_THAT(keys(net.named_parameters()),
              ElementsAre("fc1.weight", "fc1.bias", "inner.fc.weight", "inner.fc.bias",
                          "inner.bn.weight", "inner.bn.bias"));
  EXPECT_THAT(keys(net.named_parameters("net")), testing::Contains("net.inner.bn.bias"));
  EXPECT_TRUE(net.named_parameters("", false).empty());
  EXPECT_EQ(net.fc1->parameters(false).size(), 2u);
  EXPECT_THAT(keys(net.named_buffers()),
              ElementsAre("mask", "inner.bn.running_mean", "inner.bn.running_var",
                          "inner.bn.num_batches_tracked"));
  EXPECT_EQ(net.buffers().size(), 4u);
  EXPECT_EQ(net.buffers(false).size(), 1u);
  // Not persistent: no entry of the state.
  EXPECT_THAT(keys(net.state_dict()), testing::Not(testing::Contains("mask")));
  EXPECT_EQ(net.state_dict().size(), 9u);

  EXPECT_EQ(&net.get_submodule("inner.fc"), &*net.inner->fc);
  EXPECT_EQ(&net.get_submodule(""), &net);
  EXPECT_TRUE(net.get_parameter("inner.fc.bias").is_same(net.inner->fc->bias));
  EXPECT_TRUE(net.get_buffer("mask").is_same(net.mask));
  EXPECT_THAT(
      error_of([&] { net.get_submodule("inner.gc"); }),
      HasSubstr("[get_submodule] no module 'inner.gc': 'inner' has fc, bn (module_test.cc"));
  EXPECT_THAT(error_of([&] { net.get_submodule("fc1."); }), HasSubstr("no module 'fc1.'"));
  EXPECT_THAT(error_of([&] { net.get_parameter("inner.fc.scale"); }),
              HasSubstr("no parameter 'inner.fc.scale'; there is weight, bias"));
  EXPECT_THAT(error_of([&] { net.get_buffer("fc1.weight"); }), HasSubstr("there is nothing"));

  std::string order;
  net.apply([&](nn::Module& m) { order += m.name() + ","; });
  EXPECT_EQ(order, "fc1,fc,bn,inner,,");
}

TEST(Module, BuffersAreNoParameters) {
  Outer net;
  for (const Tensor& p : net.parameters()) EXPECT_TRUE(p.requires_grad());
  for (const Tensor& b : net.buffers()) EXPECT_FALSE(b.requires_grad());
  optim::SGD sgd(net.parameters(), {.lr = 0.5});
  const std::vector<float> before = net.inner->bn->running_var.to_vector<float>();
  sum(net(ones({1, 2}))).backward();
  sgd.step();
  EXPECT_EQ(net.inner->bn->running_var.to_vector<float>(), before);
}

TEST(Module, ASharedParameterIsListedOnce) {
  struct Tied : nn::Module {
    Tied() {
      w = register_parameter("encoder", ones({2, 2}));
      register_parameter("decoder", w);
    }
    Tensor w;
  } net;
  EXPECT_THAT(keys(net.named_parameters()), ElementsAre("encoder"));
  EXPECT_THAT(keys(net.state_dict()), ElementsAre("encoder", "decoder"));
}

TEST(Module, TrainAndEvalReachAll) {
  Outer net;
  net.eval();
  for (nn::Module* m : net.modules()) EXPECT_FALSE(m->training());
  net.train();
  for (nn::Module* m : net.modules()) EXPECT_TRUE(m->training());
  net.inner->eval();
  EXPECT_TRUE(net.training());
  EXPECT_FALSE(net.inner->bn->training());
}

// A layer that was frozen in eval mode stays frozen, whatever mode the rest had for a while.
TEST(Module, ModesArePutBackOneByOne) {
  Outer net;
  net.inner->bn->eval();
  for (bool training : {false, true}) {
    try {
      const nn::ModeScope mode(net, training);
      for (nn::Module* m : net.modules()) EXPECT_EQ(m->training(), training);
      throw 1;
    } catch (int) {
    }
    for (nn::Module* m : net.modules()) EXPECT_EQ(m->training(), m != &*net.inner->bn);
  }
}

TEST(Module, ZeroGradSetsToNoneOrToZeros) {
  Outer net;
  sum(net(ones({1, 2}))).backward();
  Tensor held = net.fc1->weight.grad();
  ASSERT_TRUE(held.defined());
  net.zero_grad(false);
  EXPECT_EQ(net.fc1->weight.grad().to_vector<float>(), std::vector<float>(6, 0));
  EXPECT_EQ(held.to_vector<float>(), std::vector<float>(6, 0));  // in place, as PyTorch
  EXPECT_FALSE(net.inner->bn->weight.grad().defined());          // there was none
  net.zero_grad();
  EXPECT_FALSE(net.fc1->weight.grad().defined());
}

TEST(Module, ToCastsGradientsAndBuffersToo) {
  Outer net;
  sum(net(ones({1, 2}))).backward();
  net.to(DType::kF64);
  EXPECT_EQ(net.fc1->weight.dtype(), DType::kF64);
  EXPECT_EQ(net.fc1->weight.grad().dtype(), DType::kF64);
  EXPECT_EQ(net.mask.dtype(), DType::kF64);
  EXPECT_EQ(net.inner->bn->running_mean.dtype(), DType::kF64);
  EXPECT_EQ(net.inner->bn->num_batches_tracked.dtype(), DType::kI64);
}

TEST(Module, LoadsWhatItFindsWhereNotStrict) {
  Outer net;
  nn::NamedTensors state = {{"fc1.weight", full({3, 2}, 7.f)}, {"extra.bias", ones({1})}};
  std::string refused = error_of([&] { net.load_state_dict(state); });
  EXPECT_THAT(refused, HasSubstr("missing: fc1.bias"));
  EXPECT_THAT(refused, HasSubstr("unexpected: extra.bias"));
  EXPECT_NE(net.fc1->weight.to_vector<float>()[0], 7.f);
  nn::Mismatch m = net.load_state_dict(state, false);
  EXPECT_EQ(net.fc1->weight.to_vector<float>(), std::vector<float>(6, 7.f));
  EXPECT_THAT(m.unexpected, ElementsAre("extra.bias"));
  EXPECT_EQ(m.missing.size(), 8u);
  EXPECT_EQ(m.missing[0], "fc1.bias");
  EXPECT_FALSE(m.empty());
  EXPECT_TRUE(net.load_state_dict(net.state_dict()).empty());
  // A wrong shape never passes, and nothing is copied.
  state[0].second = ones({2, 3});
  state.emplace_back("fc1.bias", full({3}, 9.f));
  EXPECT_THAT(error_of([&] { net.load_state_dict(state, false); }),
              HasSubstr("shape: fc1.weight is [2,3], the model has [3,2]"));
  EXPECT_NE(net.fc1->bias.to_vector<float>()[0], 9.f);
}

TEST(Module, RemapsNamesByRules) {
  Outer net, other;
  nn::NamedTensors state;
  for (const auto& [name, t] : net.state_dict()) {
    std::string old = "module." + name;
    if (size_t at = old.find("fc1"); at != std::string::npos) old.replace(at, 3, "layers.1");
    state.emplace_back(old, t);
  }
  const std::vector<nn::KeyRule> rules = {{"^module\\.", ""}, {"^layers\\.(\\d+)", "fc$1"}};
  other.load_state_dict(nn::remap_keys(state, rules));
  Tensor x = tensor({{1.f, -2.f}});
  EXPECT_EQ(net(x).to_vector<float>(), other(x).to_vector<float>());
  // A key that maps to nothing is left out.
  EXPECT_EQ(nn::remap_keys(state, {{".*num_batches_tracked$", ""}}).size(), state.size() - 1);
  EXPECT_THAT(error_of([&] {
                nn::remap_keys(state, {{".*bias", "bias"}});
              }),
              HasSubstr("module.layers.1.bias and module.inner.fc.bias become bias"));
  EXPECT_THAT(error_of([&] {
                nn::remap_keys(state, {{"(", ""}});
              }),
              HasSubstr("'(' is no regular expression"));
}

// Doubles what the module below it makes.
struct Twice : nn::Module {
  explicit Twice(std::shared_ptr<nn::Module> inner) { register_module("inner", inner); }
  Tensor forward(const Arg& x) override { return (*children()[0].second)(x)*2; }
};

TEST(Module, AReplacedChildIsReachedByOldHandles) {
  Outer net;
  const std::vector<float> fc = net.inner->fc->weight.to_vector<float>();
  Tensor x = tensor({{1.f, 2.f}}), plain = net(x);
  // inner.fc is called through a Child member.
  std::shared_ptr<nn::Module> old = net.replace_module(
      "inner.fc", [](const std::shared_ptr<nn::Module>& m) { return std::make_shared<Twice>(m); });
  EXPECT_EQ(net(x).to_vector<float>(), (plain * 2).to_vector<float>());
  EXPECT_THAT(keys(net.named_parameters()), testing::Contains("inner.fc.inner.weight"));
  // Once more around it: each calls the next.
  net.replace_module(
      "inner.fc", [](const std::shared_ptr<nn::Module>& m) { return std::make_shared<Twice>(m); });
  EXPECT_EQ(net(x).to_vector<float>(), (plain * 4).to_vector<float>());
  // Replaces it by another module, then by the first one.
  auto other = std::make_shared<nn::Linear>(3, 3);
  net.replace_module("inner.fc", other);
  Tensor hidden = relu(linear(x, net.fc1->weight, net.fc1->bias));
  EXPECT_EQ(net(x).to_vector<float>(),
            linear(hidden, other->weight, other->bias).to_vector<float>());
  EXPECT_EQ(module_path(), "");
  EXPECT_THAT(error_of([&] { net.replace_module("inner.fc", old); }),
              HasSubstr("already has a parent, as 'inner'"));
  EXPECT_THAT(error_of([&] { net.replace_module("nothing", other); }),
              HasSubstr("no module 'nothing'"));
  EXPECT_EQ(other->name(), "fc");
}

TEST(Module, AReplacementPutBackRunsItself) {
  Outer net;
  net.eval();
  Tensor x = tensor({{1.f, 2.f}}), plain = net(x);
  auto other = std::make_shared<nn::Linear>(2, 3);
  std::shared_ptr<nn::Module> old = net.replace_module("fc1", other);
  EXPECT_FALSE(other->training());
  EXPECT_NE(net(x).to_vector<float>(), plain.to_vector<float>());
  net.replace_module("fc1", old);
  EXPECT_EQ(net(x).to_vector<float>(), plain.to_vector<float>());
  EXPECT_EQ((*other)(x).to_vector<float>(), net.fc1(x).to_vector<float>());  // stands for it now
}

TEST(Module, UnregistersTensorsAndChildren) {
  Outer net;
  Tensor bias = net.fc1->unregister("bias");
  EXPECT_TRUE(bias.is_same(net.fc1->bias));
  EXPECT_THAT(keys(net.fc1->named_parameters()), ElementsAre("weight"));
  EXPECT_THAT(error_of([&] { net.fc1->unregister("bias"); }), HasSubstr("no parameter or buffer"));
  std::shared_ptr<nn::Module> inner = net.unregister_module("inner");
  EXPECT_EQ(inner->name(), "");
  EXPECT_EQ(net.modules().size(), 2u);
  EXPECT_THAT(error_of([&] { net.unregister_module("inner"); }), HasSubstr("no child 'inner'"));
}

// Names beyond the first few are kept in a set, which follows what goes and comes.
TEST(Module, ManyMembersHaveNamesOfTheirOwn) {
  struct Many : nn::Module {
    explicit Many(int n) {
      const Tensor t = zeros({1});
      for (int i = 0; i < n; ++i) register_buffer("b" + std::to_string(i), t);
    }
    using nn::Module::register_buffer, nn::Module::register_module, nn::Module::unregister;
  } m(100);
  const Tensor t = zeros({1});
  auto taken = [&](const char* name) {
    return error_of([&] { m.register_buffer(name, t); }).find("already taken") != std::string::npos;
  };
  EXPECT_TRUE(taken("b0") && taken("b50") && taken("b99") && taken("") && taken("a.b"));
  m.unregister("b50");
  m.register_buffer("other", t);
  EXPECT_TRUE(taken("other") && taken("b51"));
  m.register_buffer("b50", t);
  EXPECT_TRUE(taken("b50"));
  auto owned = std::make_shared<Plain>();
  Many parent(40);
  parent.register_module("child", owned);
  EXPECT_THAT(error_of([&] { m.register_module("late", owned); }), HasSubstr("has a parent"));
  m.register_buffer("late", t);  // the module did not come
  EXPECT_TRUE(taken("late"));
  EXPECT_EQ(m.state_dict().size(), 102U);

  // ten times the members: some ten times the time, where it was a hundred times
  auto seconds = [](int n) {
    double best = 1e9;
    for (int i = 0; i < 3; ++i) {
      const auto begin = std::chrono::steady_clock::now();
      const Many some(n);
      const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
      best = std::min(best, took.count());
    }
    return best;
  };
  EXPECT_LT(seconds(30000), 40 * seconds(3000));
}

TEST(Module, AComputedParameterSendsItsGradientOn) {
  nn::Linear layer(2, 2, false);
  layer.load_state_dict({{"weight", tensor({{1.f, 2.f}, {3.f, 4.f}})}});
  Tensor held = layer.weight;  // as an RNN keeps its weights in a list
  Tensor original =
      layer.compute_parameter("weight", [](nn::Module& m) { return m.find_tensor("half") * 2; });
  layer.register_parameter("half", original);
  Tensor x = ones({1, 2});
  Tensor first = layer(x), second = layer(x * 3);  // two forwards before a backward
  EXPECT_EQ(first.to_vector<float>(), (std::vector<float>{6, 14}));
  EXPECT_EQ(held.to_vector<float>(), (std::vector<float>{2, 4, 6, 8}));
  sum(first + second).backward();
  EXPECT_EQ(original.grad().to_vector<float>(), (std::vector<float>{8, 8, 8, 8}));
  EXPECT_FALSE(held.grad().defined());
  EXPECT_THAT(keys(layer.state_dict()), ElementsAre("half"));
  // A function that returns the original itself: its gradient must not stay in the handle.
  layer.restore_parameter("weight", tensor({{1.f, 0.f}, {0.f, 1.f}}).requires_grad_());
  layer.unregister("half");
  Tensor again =
      layer.compute_parameter("weight", [](nn::Module& m) { return m.find_tensor("same"); });
  layer.register_parameter("same", again);
  sum(layer(x)).backward();
  EXPECT_EQ(again.grad().to_vector<float>(), (std::vector<float>{1, 1, 1, 1}));
  EXPECT_THAT(error_of([&] { layer.compute_parameter("weight", nullptr); }),
              HasSubstr("'weight' is computed already"));
  EXPECT_THAT(error_of([&] { layer.compute_parameter("gain", nullptr); }),
              HasSubstr("no parameter 'gain'; there is same"));
}

TEST(Module, AComputedParameterKeepsItsShape) {
  nn::Linear layer(2, 2, false);
  layer.compute_parameter("weight", [](nn::Module&) { return ones({3, 2}); });
  EXPECT_THAT(error_of([&] {
                layer(ones({1, 2}));
              }),
              HasSubstr("'weight' is float32[2,2], its function returned float32[3,2]"));
}

}  // namespace
}  // namespace wick
