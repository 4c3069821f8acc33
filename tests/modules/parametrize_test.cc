// Weight norm, spectral norm, orthogonal weights: against PyTorch's values and gradients.
#include <gmock/gmock.h>

#include "tests/modules/goldens.h"
#include "tests/support/error_of.h"

namespace wick {
namespace {

using test::error_of;
using testing::ElementsAre;
using testing::HasSubstr;

nn::Conv2d golden_conv() {
  nn::Conv2d m(2, 3, 3);
  m.to(DType::kF64);
  m.load_state_dict({{"weight", number({3, 2, 3, 3}, 4)}, {"bias", number({3}, 5)}});
  return m;
}

void check_weight_norm(nn::Module& m, const Tensor& x, const std::string& key) {
  Tensor y = m(x);
  expect_golden(y, key + ".0");
  sum(y * y).backward();
  expect_golden(m.get_parameter("parametrizations.weight.original0").grad(), key + ".1");
  expect_golden(m.get_parameter("parametrizations.weight.original1").grad(), key + ".2");
}

TEST(WeightNorm, MatchesPyTorch) {
  for (auto [dim, key] : {std::pair{0, "weight_norm"},
                          {1, "weight_norm_dim1"},
                          {nn::kNormOfAll, "weight_norm_all"}}) {
    nn::Linear m = golden_linear(5, 4);
    nn::weight_norm(m, "weight", dim);
    NoGrad guard;
    m.get_parameter("parametrizations.weight.original0").mul_(1.5);
    EnableGrad on;
    check_weight_norm(m, number({3, 5}, 3), key);
  }
  nn::Conv2d conv = golden_conv();
  Tensor x = number({1, 2, 5, 5}, 6), plain = conv(x);
  nn::weight_norm(conv);
  EXPECT_LE(max(abs(conv(x) - plain)).item(), 1e-13);
  check_weight_norm(conv, x, "weight_norm_conv");
}

TEST(WeightNorm, HasTorchTwosNames) {
  nn::Sequential net(nn::Linear(3, 2), nn::ReLU());
  nn::weight_norm(net.get_submodule("0"));
  EXPECT_THAT(keys(net.state_dict()), ElementsAre("0.bias", "0.parametrizations.weight.original0",
                                                  "0.parametrizations.weight.original1"));
  EXPECT_TRUE(nn::is_parametrized(net.get_submodule("0"), "weight"));
  EXPECT_TRUE(nn::is_parametrized(net.get_submodule("0")));
  EXPECT_FALSE(nn::is_parametrized(net.get_submodule("0"), "bias"));
  EXPECT_THAT(net.repr(), HasSubstr("(0): ParametrizedLinear("));
  EXPECT_THAT(net.repr(), HasSubstr("(parametrizations): ModuleDict(\n      (weight): "
                                    "ParametrizationList(\n        (0): _WeightNorm()"));
  Tensor x = ones({1, 3}), y = net(x);
  nn::remove_parametrizations(net.get_submodule("0"), "weight");
  EXPECT_THAT(keys(net.state_dict()), ElementsAre("0.bias", "0.weight"));
  EXPECT_EQ(net(x).to_vector<float>(), y.to_vector<float>());
  EXPECT_FALSE(nn::is_parametrized(net.get_submodule("0")));
  sum(net(x)).backward();
  EXPECT_TRUE(net.get_parameter("0.weight").grad().defined());
}

void check_spectral(nn::Module& m, const Tensor& x, const std::string& key) {
  nn::Module& p = m.get_submodule("parametrizations.weight.0");
  Tensor u = p.get_buffer("_u"), v = p.get_buffer("_v");
  u.copy_(normalize(number(u.raw_shape(), 7), 2, 0));
  v.copy_(normalize(number(v.raw_shape(), 8), 2, 0));
  for (int step = 0; step < 3; ++step) {
    const std::string at = key + "_" + std::to_string(step);
    m.zero_grad();
    Tensor y = m(x);
    sum(y * y).backward();
    expect_golden(y, at + ".0");
    expect_golden(m.get_parameter("parametrizations.weight.original").grad(), at + ".1");
    expect_golden(u, at + ".2");
    expect_golden(v, at + ".3");
  }
  m.eval();
  expect_golden(m(x), key + "_eval");
  expect_golden(m(x), key + "_eval");  // no iteration in eval mode
}

TEST(SpectralNorm, MatchesPyTorchStepByStep) {
  nn::Linear one = golden_linear(5, 4), two = golden_linear(5, 4);
  nn::spectral_norm(one);
  check_spectral(one, number({3, 5}, 3), "spectral");
  nn::spectral_norm(two, "weight", 2);
  check_spectral(two, number({3, 5}, 3), "spectral_two");
  nn::Conv2d conv = golden_conv();
  nn::spectral_norm(conv, "weight", 1, 1e-12, 1);
  check_spectral(conv, number({1, 2, 5, 5}, 6), "spectral_dim1");
}

TEST(SpectralNorm, TheLargestSingularValueBecomesOne) {
  manual_seed(1);
  nn::Linear m(20, 30);
  nn::spectral_norm(m);
  Tensor x = ones({1, 20});
  for (int i = 0; i < 100; ++i) m(x);
  EXPECT_NEAR(linalg::svdvals(m.weight.detach()).to_vector<float>()[0], 1, 1e-4);
  nn::remove_parametrizations(m, "weight", false);
  EXPECT_GT(std::fabs(linalg::svdvals(m.weight.detach()).to_vector<float>()[0] - 1), 1e-2);
}

// A GAN's critic runs twice before its backward.
TEST(SpectralNorm, TwoForwardsBeforeABackward) {
  nn::Linear m = golden_linear(5, 4);
  nn::spectral_norm(m);
  Tensor loss = sum(m(number({3, 5}, 3))) - sum(m(number({3, 5}, 4)));
  loss.backward();
  EXPECT_TRUE(m.get_parameter("parametrizations.weight.original").grad().defined());
}

TEST(Orthogonal, MatchesPyTorchsCayleyMap) {
  for (auto [in, out, key] :
       {std::tuple{4, 4, "orthogonal"}, {3, 5, "orthogonal_tall"}, {5, 3, "orthogonal_wide"}}) {
    nn::Linear m = golden_linear(in, out);
    nn::orthogonal(m);
    const int64_t n = std::max(in, out);
    m.get_buffer("parametrizations.weight.0.base")
        .copy_(from_blob(golden(std::string(key) + ".0").data(), {n, n}, DType::kF64));
    NoGrad guard;
    m.get_parameter("parametrizations.weight.original").copy_(number({out, in}, 10) / 4);
    EnableGrad on;
    Tensor y = m(number({2, in}, 3));
    sum(y * number({2, out}, 11)).backward();
    expect_golden(y, std::string(key) + ".1");
    expect_golden(m.get_parameter("parametrizations.weight.original").grad(),
                  std::string(key) + ".2", 1e-11);
    Tensor w = m.weight.detach();
    Tensor gram = in < out ? matmul(w.t(), w) : matmul(w, w.t());
    EXPECT_LE(max(abs(gram - eye(std::min(in, out), DType::kF64))).item(), 1e-13);
  }
}

TEST(Parametrize, TrainsTheOriginals) {
  manual_seed(2);
  nn::Sequential net(nn::Linear(4, 8), nn::Tanh(), nn::Linear(8, 1));
  nn::spectral_norm(net.get_submodule("0"));
  nn::weight_norm(net.get_submodule("2"));
  optim::SGD sgd(net.parameters(), {.lr = 0.1});
  Tensor x = randn({32, 4}), target = sum(x, 1, true) * 0.3;
  double first = 0, last = 0;
  for (int i = 0; i < 200; ++i) {
    Tensor loss = mse_loss(net(x), target);
    (i == 0 ? first : last) = loss.item();
    sgd.zero_grad();
    loss.backward();
    sgd.step();
  }
  EXPECT_LT(last, first / 5);
  // A state dict goes into a net parametrized alike.
  nn::Sequential other(nn::Linear(4, 8), nn::Tanh(), nn::Linear(8, 1));
  nn::spectral_norm(other.get_submodule("0"));
  nn::weight_norm(other.get_submodule("2"));
  other.load_state_dict(net.state_dict());
  net.eval();
  other.eval();
  EXPECT_EQ(net(x).to_vector<float>(), other(x).to_vector<float>());
}

struct Doubled : nn::Parametrization {
  Tensor forward(const Arg& x) override { return x.tensor * 2; }
  std::vector<Tensor> right_inverse(const Tensor& v) override { return {v.detach() / 2}; }
};
struct Wider : nn::Parametrization {
  Tensor forward(const Arg& x) override { return cat({x.tensor, x.tensor}, 0); }
};

TEST(Parametrize, AppliesSeveralInOrder) {
  nn::Linear m = golden_linear(5, 4);
  std::vector<double> plain = m.weight.to_vector<double>();
  nn::register_parametrization(m, "weight", std::make_shared<Doubled>());
  nn::register_parametrization(m, "weight", std::make_shared<Doubled>());
  EXPECT_EQ(m.weight.to_vector<double>(), plain);
  EXPECT_EQ(m.get_parameter("parametrizations.weight.original").to_vector<double>()[0],
            plain[0] / 4);
  sum(m(number({1, 5}, 3))).backward();
  EXPECT_EQ(m.get_parameter("parametrizations.weight.original").grad().to_vector<double>()[1],
            4 * number({1, 5}, 3).to_vector<double>()[1]);
}

TEST(Parametrize, RefusesWhatDoesNotFit) {
  nn::Linear m = golden_linear(5, 4);
  EXPECT_THAT(
      error_of([&] { nn::register_parametrization(m, "weight", std::make_shared<Wider>()); }),
      HasSubstr("the parameter is float64[4,5], the parametrization's value is float64[8,5]"));
  EXPECT_THAT(keys(m.state_dict()), ElementsAre("weight", "bias"));
  EXPECT_THAT(error_of([&] { nn::weight_norm(m, "wait"); }), HasSubstr("no parameter 'wait'"));
  EXPECT_THAT(error_of([&] { nn::weight_norm(m, "weight", 2); }),
              HasSubstr("[weight_norm] dimension 2 of a parameter float64[4,5]"));
  EXPECT_THAT(error_of([&] { nn::spectral_norm(m, "weight", 0); }),
              HasSubstr("n_power_iterations must be positive, got 0"));
  EXPECT_THAT(error_of([&] { nn::spectral_norm(m, "weight", 1, NAN); }),
              HasSubstr("eps must be positive"));
  EXPECT_THAT(error_of([&] { nn::orthogonal(m, "bias"); }), HasSubstr("expected a matrix"));
  EXPECT_THAT(error_of([&] { nn::remove_parametrizations(m, "weight"); }),
              HasSubstr("'weight' is not parametrized"));
  nn::weight_norm(m);
  EXPECT_THAT(error_of([&] { nn::remove_parametrizations(m, "weight", false); }),
              HasSubstr("has several originals"));
  EXPECT_THAT(error_of([&] { nn::prune::l1_unstructured(m, "weight", 0.5); }),
              HasSubstr("'weight' is parametrized: remove that first"));
}

}  // namespace
}  // namespace wick
