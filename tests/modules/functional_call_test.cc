// functional_call(): a module with other tensors, beside PyTorch's.
#include <gmock/gmock.h>

#include "tests/modules/goldens.h"
#include "tests/support/error_of.h"

namespace wick {
namespace {

using nn::functional_call;
using nn::NamedTensors;
using test::error_of;
using testing::HasSubstr;

// make_modules.py's small().
nn::Sequential small() {
  nn::Sequential m(nn::Linear(3, 4), nn::Tanh(), nn::Linear(4, 2));
  m.to(DType::kF64);
  NoGrad guard;
  int64_t seed = 50;
  for (const Tensor& p : m.parameters()) p.copy_(number(p.raw_shape(), seed++) * 0.5);
  return m;
}

std::vector<Tensor> tensors(const NamedTensors& named) {
  std::vector<Tensor> all;
  for (const auto& [name, t] : named) all.push_back(t);
  return all;
}

TEST(FunctionalCall, AStepWithinALossIsDifferentiatedAsInPyTorch) {
  nn::Sequential m = small();
  const NamedTensors weights = m.named_parameters();
  Tensor x = number({5, 3}, 54), y = number({5, 2}, 55);
  Tensor inner = mse_loss(functional_call(m, weights, x), y);
  const std::vector<Tensor> g = grad({inner}, tensors(weights), {}, true, true);
  NamedTensors fast;
  for (size_t i = 0; i < g.size(); ++i) {
    fast.emplace_back(weights[i].first, weights[i].second - g[i] * 0.1);
  }
  Tensor outer = mse_loss(functional_call(m, fast, x * 0.5), y);
  outer.backward();
  expect_golden(inner, "maml.0");
  expect_golden(outer, "maml.1");
  for (size_t i = 0; i < g.size(); ++i) {
    expect_golden(weights[i].second.grad(), "maml." + std::to_string(i + 2));
  }
}

TEST(FunctionalCall, BuffersThatAreGivenAreUpdatedAndTheModulesOwnAreNot) {
  nn::Sequential m(nn::Linear(3, 4), nn::BatchNorm1d(4));
  m.to(DType::kF64);
  {
    NoGrad guard;
    int64_t seed = 56;
    for (const Tensor& p : m.parameters()) p.copy_(number(p.raw_shape(), seed++));
  }
  Tensor mean = number({4}, 60), weight = number({4, 3}, 61).requires_grad_();
  Tensor z =
      functional_call(m, {{"1.running_mean", mean}, {"0.weight", weight}}, number({5, 3}, 54));
  sum(z * z * number({5, 4}, 62)).backward();
  expect_golden(z, "functional_norm.0");
  expect_golden(weight.grad(), "functional_norm.1", 1e-11);
  expect_golden(mean, "functional_norm.2");
  expect_golden(m.get_buffer("1.running_mean"), "functional_norm.3");
  expect_golden(m.get_buffer("1.running_var"), "functional_norm.4");
  EXPECT_FALSE(m.get_parameter("0.weight").grad().defined());
  EXPECT_TRUE(m.get_parameter("0.bias").grad().defined());
}

TEST(FunctionalCall, TheModuleHasItsOwnTensorsAgain) {
  manual_seed(3);
  nn::Linear m(3, 2);
  const Tensor before = m.weight;
  const std::vector<float> values = before.to_vector<float>();
  Tensor x = ones({1, 3}), plain = m(x);
  sum(plain).backward();
  const std::vector<float> gradient = m.weight.grad().to_vector<float>();
  Tensor w = zeros({2, 3}).requires_grad_(), y = functional_call(m, {{"weight", w}}, x);
  EXPECT_EQ(y.to_vector<float>(), m.bias.to_vector<float>());
  EXPECT_TRUE(m.weight.is_same(before));
  EXPECT_TRUE(m.get_parameter("weight").is_same(before));
  EXPECT_TRUE(m.weight.is_leaf());
  EXPECT_TRUE(m.weight.requires_grad());
  EXPECT_EQ(m.weight.to_vector<float>(), values);
  sum(y).backward();
  EXPECT_EQ(w.grad().to_vector<float>(), std::vector<float>(6, 1));
  EXPECT_EQ(m.weight.grad().to_vector<float>(), gradient);
  EXPECT_EQ(m(x).to_vector<float>(), plain.to_vector<float>());
  // Also when the call throws: here Linear's, then one from outside of Wick.
  EXPECT_THAT(error_of([&] {
                functional_call(m, {{"weight", w}}, ones({1, 4}));
              }),
              HasSubstr("functional_call_test.cc:"));
  EXPECT_EQ(m.weight.to_vector<float>(), values);
  m.register_forward_hook([](nn::Module&, const Tensor&, const Tensor&) { throw 7; });
  EXPECT_THROW(functional_call(m, {{"weight", w}}, x), int);
  EXPECT_EQ(m.weight.to_vector<float>(), values);
  EXPECT_TRUE(m.weight.is_leaf());
}

TEST(FunctionalCall, GradientsOfAnEarlierForwardAreTheModules) {
  manual_seed(4);
  nn::Linear m(3, 2);
  Tensor x = randn({4, 3}), loss = sum(m(x) * m(x));
  functional_call(m, {{"weight", zeros({2, 3})}, {"bias", zeros({2})}}, x);
  loss.backward();
  nn::Linear other(3, 2);
  other.load_state_dict(m.state_dict());
  sum(other(x) * other(x)).backward();
  EXPECT_EQ(m.weight.grad().to_vector<float>(), other.weight.grad().to_vector<float>());
}

TEST(FunctionalCall, GivesAnyTensorItsGradient) {
  nn::Linear m(2, 2, false);
  m.to(DType::kF64);
  Tensor x = tensor({{1., 2.}});
  x = x.to(DType::kF64);
  // A result of ops, a view, a leaf, and a constant.
  Tensor leaf = full({2, 2}, 2., DType::kF64).requires_grad_();
  sum(functional_call(m, {{"weight", leaf * 3}}, x)).backward();
  EXPECT_EQ(leaf.grad().to_vector<double>(), (std::vector<double>{3, 6, 3, 6}));
  Tensor stacked = full({3, 2, 2}, 2., DType::kF64).requires_grad_();
  sum(functional_call(m, {{"weight", stacked.select(0, 1)}}, x)).backward();
  EXPECT_EQ(stacked.grad().to_vector<double>(),
            (std::vector<double>{0, 0, 0, 0, 1, 2, 1, 2, 0, 0, 0, 0}));
  EXPECT_FALSE(functional_call(m, {{"weight", leaf.detach()}}, x).requires_grad());
  // Another dtype, and the transpose of a weight.
  Tensor narrow = full({2, 2}, 2.f);
  EXPECT_EQ(functional_call(m, {{"weight", narrow}}, ones({1, 2})).dtype(), DType::kF32);
  Tensor t = tensor({{1., 2.}, {3., 4.}}).to(DType::kF64);
  EXPECT_EQ(functional_call(m, {{"weight", t.t()}}, x).to_vector<double>(),
            (std::vector<double>{7, 10}));
  // A hook of the given tensor runs, one of the module's own does not.
  int own = 0, given = 0;
  m.weight.register_hook([&](const Tensor&) { ++own; });
  leaf.register_hook([&](const Tensor&) { ++given; });
  sum(functional_call(m, {{"weight", leaf}}, x)).backward();
  EXPECT_EQ(own, 0);
  EXPECT_EQ(given, 1);
  sum(m(x)).backward();
  EXPECT_EQ(own, 1);
}

TEST(FunctionalCall, ForwardModeGoesThroughTheWeights) {
  nn::Linear m(2, 1, false);
  Tensor w = tensor({{3.f, 4.f}}), v = tensor({{1.f, 10.f}}), x = tensor({{2.f, 5.f}});
  const OutputsAnd r = jvp(
      [&](const std::vector<Tensor>& in) {
        return std::vector<Tensor>{functional_call(m, {{"weight", in[0]}}, x)};
      },
      {w}, {v});
  EXPECT_EQ(r.first[0].item(), 26);
  EXPECT_EQ(r.second[0].item(), 52);
}

TEST(FunctionalCall, TiedWeightsAreReplacedTogether) {
  struct Tied : nn::Module {
    Tied() {
      w = register_parameter("encoder", full({2}, 5.));
      register_parameter("decoder", w);
    }
    Tensor forward(const Arg& x) override {
      return x.tensor * find_tensor("encoder") + find_tensor("decoder") + w;
    }
    Tensor w;
  } m;
  Tensor x = ones({2}), w = full({2}, 2.).requires_grad_();
  for (const char* name : {"encoder", "decoder"}) {
    EXPECT_EQ(functional_call(m, {{name, w}}, x).to_vector<float>(), (std::vector<float>{6, 6}));
  }
  EXPECT_EQ(functional_call(m, {{"encoder", w}, {"decoder", w}}, x).to_vector<float>(),
            (std::vector<float>{6, 6}));
  EXPECT_THAT(error_of([&] {
                functional_call(m, {{"encoder", w}, {"decoder", ones({2})}}, x);
              }),
              HasSubstr("two values: encoder and decoder, one tensor of the module"));
  EXPECT_EQ(m(x).to_vector<float>(), (std::vector<float>{15, 15}));
}

TEST(FunctionalCall, TheModulesOwnTensorsMayChangePlaces) {
  struct Two : nn::Module {
    Tensor a = register_parameter("a", full({1}, 2.)), b = register_parameter("b", full({1}, 3.));
    Tensor forward(const Arg& x) override { return x.tensor * a * a * b; }
  } m;
  Tensor x = ones({1}), y = functional_call(m, {{"a", m.b}, {"b", m.a}}, x);
  EXPECT_EQ(y.item(), 18);  // b b a
  y.backward();
  EXPECT_EQ(m.a.grad().item(), 9);
  EXPECT_EQ(m.b.grad().item(), 12);
  EXPECT_EQ(m(x).item(), 12);
}

TEST(FunctionalCall, ParametrizedWeightsAreComputedFromWhatIsGiven) {
  nn::Linear m = golden_linear(5, 4);
  nn::weight_norm(m);
  Tensor x = number({3, 5}, 3), plain = m(x);
  const std::string g = "parametrizations.weight.original0";
  Tensor twice = (m.get_parameter(g) * 2).detach().requires_grad_();
  Tensor y = functional_call(m, {{g, twice}, {"bias", zeros({4}, DType::kF64)}}, x);
  const std::vector<double> was = m.weight.to_vector<double>();
  EXPECT_TRUE(allclose(y, (plain - m.bias) * 2, 1e-12, 1e-12));
  sum(y).backward();
  EXPECT_TRUE(twice.grad().defined());
  EXPECT_FALSE(m.get_parameter(g).grad().defined());
  EXPECT_EQ(m(x).to_vector<double>(), plain.to_vector<double>());
  EXPECT_EQ(m.weight.to_vector<double>(), was);  // not the last call's
  EXPECT_THAT(error_of([&] {
                functional_call(m, {{"weight", m.weight}}, x);
              }),
              HasSubstr("unknown: weight"));
}

TEST(FunctionalCall, SeveralInputsAndOtherEntries) {
  manual_seed(5);
  nn::GRUCell cell(3, 4);
  NamedTensors zero;
  for (const auto& [name, t] : cell.named_parameters()) zero.emplace_back(name, zeros_like(t));
  Tensor x = randn({2, 3}), h = randn({2, 4});
  EXPECT_TRUE(allclose(functional_call(cell, zero, x, h), h * 0.5));  // z = 1/2, n = 0
  nn::LSTM lstm(3, 4);
  NamedTensors none;
  for (const auto& [name, t] : lstm.named_parameters()) none.emplace_back(name, zeros_like(t));
  const nn::RnnResult r = functional_call(lstm, none, [&] {
    return lstm.with_state(randn({5, 2, 3}));
  });
  EXPECT_EQ(sum(abs(r.output)).item(), 0);
  EXPECT_EQ(r.c_n.raw_shape(), (Shape{1, 2, 4}));
  nn::CrossEntropyLoss loss({.weight = ones({2})});
  Tensor logits = tensor({{0.f, 0.f}}), target = tensor({0});
  functional_call(loss, {{"weight", tensor({3.f, 1.f})}}, logits, target);
  int calls = 0;
  functional_call(lstm, none, [&] { ++calls; });
  EXPECT_EQ(calls, 1);
}

TEST(FunctionalCall, AResultThatIsAWeightIsTheGivenOne) {
  struct Weight : nn::Module {
    Tensor w = register_parameter("w", full({1}, 2.));
    Tensor forward(const Arg&) override { return w; }
  } m;
  Tensor given = full({1}, 7.), y = functional_call(m, {{"w", given}}, ones({1}));
  EXPECT_TRUE(y.is_same(given));
  EXPECT_EQ(m.w.item(), 2);
}

TEST(FunctionalCall, WritesInPlaceReachTheGivenTensorWithTheirHistory) {
  struct Counts : nn::Module {
    Tensor sum_ = register_buffer("sum", zeros({2}));
    Tensor forward(const Arg& x) override {
      sum_.add_(x.tensor);
      return sum_ * 2;
    }
  } m;
  Tensor given = full({2}, 5.), x = full({2}, 3.).requires_grad_();
  Tensor y = functional_call(m, {{"sum", given}}, x);
  EXPECT_EQ(y.to_vector<float>(), (std::vector<float>{16, 16}));
  EXPECT_EQ(given.to_vector<float>(), (std::vector<float>{8, 8}));
  EXPECT_EQ(m.sum_.to_vector<float>(), (std::vector<float>{0, 0}));
  EXPECT_FALSE(m.sum_.requires_grad());
  EXPECT_TRUE(given.requires_grad());
  sum(given * given).backward();
  EXPECT_EQ(x.grad().to_vector<float>(), (std::vector<float>{16, 16}));
  Tensor leaf = full({2}, 5.).requires_grad_();
  EXPECT_THAT(error_of([&] {
                functional_call(m, {{"sum", leaf}}, x);
              }),
              HasSubstr("'sum' is a leaf that requires grad, and the module modified it in place"));
  EXPECT_EQ(m.sum_.to_vector<float>(), (std::vector<float>{0, 0}));
}

TEST(FunctionalCall, EveryProblemIsInOneError) {
  nn::Sequential m = small();
  const std::string text = error_of([&] {
    functional_call(m,
                    {{"0.weight", ones({3, 4})},
                     {"9.bias", ones({1})},
                     {"0.bias", Tensor()},
                     {"2.bias", ones({2})},
                     {"2.bias", zeros({2})}},
                    ones({1, 3}, DType::kF64));
  });
  EXPECT_THAT(text, HasSubstr("[functional_call] the tensors do not fit the module"));
  EXPECT_THAT(text, HasSubstr("\n  shape: 0.weight is [3,4], the module has [4,3]"));
  EXPECT_THAT(text, HasSubstr("\n  unknown: 9.bias"));
  EXPECT_THAT(text, HasSubstr("\n  undefined: 0.bias"));
  EXPECT_THAT(text, HasSubstr("\n  two values: 2.bias"));
  EXPECT_THAT(text, HasSubstr("(functional_call_test.cc:"));
}

TEST(FunctionalCall, GradientsOfSingleSamplesAreTheLoops) {
  nn::Sequential m = small();
  const NamedTensors weights = m.named_parameters();
  auto of_one = [&](const Tensor& x, const Tensor& y) {
    NamedTensors own;
    for (const auto& [name, w] : weights) own.emplace_back(name, w.detach().requires_grad_());
    return grad({mse_loss(functional_call(m, own, x.unsqueeze(0)), y.unsqueeze(0))}, tensors(own));
  };
  const std::vector<Tensor> g = vmap(of_one)(number({5, 3}, 54), number({5, 2}, 55));
  ASSERT_EQ(g.size(), 4u);
  for (size_t i = 0; i < g.size(); ++i) {
    EXPECT_EQ(g[i].raw_shape()[0], 5);
    expect_golden(g[i], "per_sample." + std::to_string(i));
  }
}

// An ensemble: three nets of one form, their weights stacked.
TEST(FunctionalCall, StackedWeightsAreAnEnsemble) {
  nn::Linear m(3, 2);
  Tensor w = randn({3, 2, 3}), b = randn({3, 2}), x = randn({4, 3});
  auto one = [&](const Tensor& weight, const Tensor& bias, const Tensor& in) {
    return functional_call(m, {{"weight", weight}, {"bias", bias}}, in);
  };
  Tensor y = vmap(one, {0, 0, std::nullopt})(w, b, x);
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(y.select(0, i).to_vector<float>(),
              linear(x, w.select(0, i), b.select(0, i)).to_vector<float>());
  }
}

}  // namespace
}  // namespace wick
