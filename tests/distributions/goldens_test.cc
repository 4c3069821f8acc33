// Each family's log_prob, entropy, mean, variance, divergence and their gradients: PyTorch's
// numbers; the pathwise derivative of gamma draws: mpmath's.
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <map>
#include <memory>
#include <sstream>

#include "tests/support/where.h"
#include "trainer/distributions/gamma_draw.h"
#include "wick/trainer.h"

namespace wick {
namespace {

using namespace distributions;  // NOLINT: under test

struct Case {
  std::string family;
  std::map<std::string, Tensor> tensors;
  Tensor at(const std::string& key) const {
    const auto found = tensors.find(key);
    return found == tensors.end() ? Tensor() : found->second;
  }
};
struct Slope {
  double alpha, log_z, value;
};
struct Goldens {
  std::vector<Case> cases;
  std::vector<Slope> slopes;
};

Goldens read_goldens() {
  Goldens all;
  std::ifstream file(source_dir("/tests/distributions/goldens/distributions.txt"));
  EXPECT_TRUE(file.good());
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    std::string key, word;
    words >> key >> word;
    if (key == "case") {
      all.cases.push_back({word, {}});
      continue;
    }
    std::vector<double> v;
    for (std::string number; words >> number;) v.push_back(std::stod(number));
    if (key == "slope") {
      all.slopes.push_back({std::stod(word), v.at(0), v.at(1)});
      continue;
    }
    Shape shape;
    std::istringstream sizes(word.substr(1, word.size() - 2));
    for (std::string size; std::getline(sizes, size, ',');) shape.push_back(std::stoll(size));
    all.cases.back().tensors[key] = from_blob(v.data(), shape, DType::kF64);
  }
  return all;
}

using Made = std::unique_ptr<Distribution>;
Made make(const std::string& family, const Tensor& a, const Tensor& b) {
  if (family == "Normal") return std::make_unique<Normal>(a, b);
  if (family == "Uniform") return std::make_unique<Uniform>(a, b);
  if (family == "Exponential") return std::make_unique<Exponential>(a);
  if (family == "Gamma") return std::make_unique<Gamma>(a, b);
  if (family == "Dirichlet") return std::make_unique<Dirichlet>(a);
  if (family == "Beta") return std::make_unique<Beta>(a, b);
  if (family == "Bernoulli") return std::make_unique<Bernoulli>(a);
  if (family == "BernoulliLogits") {
    return std::make_unique<Bernoulli>(Bernoulli::from_logits(a));
  }
  if (family == "Categorical") return std::make_unique<Categorical>(a);
  if (family == "CategoricalLogits") {
    return std::make_unique<Categorical>(Categorical::from_logits(a));
  }
  if (family == "MultivariateNormal") return std::make_unique<MultivariateNormal>(a, b);
  if (family == "MultivariateNormalTril") {
    return std::make_unique<MultivariateNormal>(MultivariateNormal::from_scale_tril(a, b));
  }
  if (family == "Laplace") return std::make_unique<Laplace>(a, b);
  if (family == "LogNormal") return std::make_unique<LogNormal>(a, b);
  if (family == "Geometric") return std::make_unique<Geometric>(a);
  if (family == "GeometricLogits") {
    return std::make_unique<Geometric>(Geometric::from_logits(a));
  }
  if (family == "Poisson") return std::make_unique<Poisson>(a);
  if (family == "OneHotCategorical") return std::make_unique<OneHotCategorical>(a);
  if (family == "OneHotCategoricalLogits") {
    return std::make_unique<OneHotCategorical>(OneHotCategorical::from_logits(a));
  }
  if (family == "TanhAffine") {
    return std::make_unique<TransformedDistribution>(Normal(a, b), TanhTransform(),
                                                     AffineTransform(0.1, -2));
  }
  if (family == "SigmoidOfLaplace") {
    return std::make_unique<TransformedDistribution>(Laplace(a, b), SigmoidTransform());
  }
  if (family == "ExpOfIndependent") {
    return std::make_unique<TransformedDistribution>(Independent(Normal(a, b), 1), ExpTransform());
  }
  if (family == "AffineOfNormal") {
    const Tensor loc = full({2, 3}, 0.3, a.dtype()), scale = full({2, 3}, 0.8, a.dtype());
    return std::make_unique<TransformedDistribution>(Normal(loc, scale), AffineTransform(a, b));
  }
  if (family == "Independent") return std::make_unique<Independent>(Normal(a, b), 1);
  ADD_FAILURE() << family;
  return nullptr;
}

Tensor weights(const Shape& shape) {
  std::vector<double> v;
  for (int64_t i = 0; i < numel(shape); ++i)
    v.push_back((static_cast<double>(i * 7 % 5) - 1.5) / 2);
  return from_blob(v.data(), shape, DType::kF64);
}

// Relative to the largest number that PyTorch has there, at least 1.
void expect_close(const Tensor& got, const Tensor& want, double bound, const std::string& what) {
  ASSERT_TRUE(got.defined()) << what;
  ASSERT_EQ(got.raw_shape(), want.raw_shape()) << what;
  const std::vector<double> g = got.to(DType::kF64).to_vector<double>();
  const std::vector<double> w = want.to_vector<double>();
  double size = 1;
  for (double x : w) size = std::isfinite(x) ? std::max(size, std::fabs(x)) : size;
  for (size_t i = 0; i < w.size(); ++i) {
    if (g[i] == w[i] || (std::isnan(g[i]) && std::isnan(w[i]))) continue;
    EXPECT_NEAR(g[i], w[i], bound * size) << what << ", number " << i;
  }
}

// Calls the result that a golden's key names.
Tensor result(const Distribution& p, const Distribution& q, const std::string& key,
              const Tensor& value) {
  if (key == "log_prob") return p.log_prob(value);
  if (key == "entropy") return p.entropy();
  if (key == "mean") return p.mean();
  if (key == "variance") return p.variance();
  return kl_divergence(p, q);
}

class OfFamily : public testing::TestWithParam<const char*> {};

TEST_P(OfFamily, HasPyTorchsNumbersAndGradients) {
  const std::string family = GetParam();
  int cases = 0;
  for (const Case& c : read_goldens().cases) {
    if (c.family != family) continue;
    ++cases;
    // PyTorch's trigamma is off by 3e-10: at 0.5 it is no pi^2 / 2.
    const bool gammas = family == "Gamma" || family == "Dirichlet" || family == "Beta";
    const bool whole = family.rfind("Categorical", 0) == 0;
    std::map<std::string, Tensor> leaves;
    for (const char* key : {"p0", "p1", "q0", "q1", "value"}) {
      Tensor t = c.at(key);
      if (!t.defined()) continue;
      leaves[key] = whole && key == std::string("value") ? t.to(DType::kI64) : t.clone();
      if (is_float(leaves[key].dtype())) leaves[key].requires_grad_();
    }
    for (const char* key : {"log_prob", "entropy", "mean", "variance", "kl"}) {
      const Tensor want = c.at(key);
      if (!want.defined()) continue;
      const std::string what = family + " " + key + " " + std::to_string(cases);
      const Made p = make(family, leaves["p0"], leaves["p1"]);
      const Made q = make(family, leaves["q0"], leaves["q1"]);
      const Tensor got = result(*p, *q, key, leaves["value"]);
      expect_close(got, want, 1e-12, what);
      for (const auto& [of, leaf] : leaves) {
        const Tensor slope = c.at("grad." + std::string(key) + "." + of);
        if (!slope.defined()) continue;
        ASSERT_TRUE(got.requires_grad()) << what << " by " << of;
        const Tensor g =
            grad({sum(weights(got.raw_shape()) * got)}, {leaf}, {}, true, false, true)[0];
        expect_close(g.defined() ? g : zeros_like(leaf), slope, gammas ? 1e-8 : 1e-10,
                     what + " by " + of);
      }
    }
  }
  EXPECT_GE(cases, 1);
}
INSTANTIATE_TEST_SUITE_P(
    Goldens, OfFamily,
    testing::Values("Normal", "Uniform", "Exponential", "Gamma", "Dirichlet", "Beta", "Bernoulli",
                    "BernoulliLogits", "Categorical", "CategoricalLogits", "MultivariateNormal",
                    "MultivariateNormalTril", "Independent", "Laplace", "LogNormal", "Geometric",
                    "GeometricLogits", "Poisson", "OneHotCategorical", "OneHotCategoricalLogits",
                    "TanhAffine", "SigmoidOfLaplace", "ExpOfIndependent", "AffineOfNormal"),
    [](const auto& info) { return std::string(info.param); });

// float32 parameters give float32 results: PyTorch's within the rounding of some operations.
TEST(Goldens, OfFloat32Parameters) {
  for (const Case& c : read_goldens().cases) {
    auto narrow = [&](const char* key) {
      const Tensor t = c.at(key);
      return t.defined() ? t.to(DType::kF32) : t;
    };
    // A simplex sums to 1 in float32 only to its own rounding.
    if (c.family == "Dirichlet") continue;
    const Made p = make(c.family, narrow("p0"), narrow("p1"));
    const Tensor got = p->log_prob(narrow("value"));
    EXPECT_EQ(got.dtype(), DType::kF32) << c.family;
    expect_close(got, c.at("log_prob"), 2e-5, c.family);
  }
}

TEST(GammaSlope, IsTheDerivativeOfTheQuantile) {
  const std::vector<Slope> slopes = read_goldens().slopes;
  EXPECT_GE(slopes.size(), 90U);
  for (const Slope& s : slopes) {
    const double psi1 = digamma(tensor({s.alpha + 1}, DType::kF64)).item();
    const double got = log_gamma_slope(s.alpha, s.log_z, psi1);
    EXPECT_NEAR(got, s.value, 2e-12 * std::fabs(s.value)) << s.alpha << ", " << s.log_z;
  }
}

TEST(GammaSlope, HasNoValueOutsideOfItsRange) {
  for (const auto& [alpha, log_z] : {std::pair(0.0, 1.0),
                                     {-1.0, 1.0},
                                     {NAN, 1.0},
                                     {HUGE_VAL, 1.0},
                                     {1.0, NAN},
                                     {1.0, HUGE_VAL},
                                     {1.0, -HUGE_VAL}}) {
    EXPECT_TRUE(std::isnan(log_gamma_slope(alpha, log_z, 0.5))) << alpha << ", " << log_z;
  }
}

}  // namespace
}  // namespace wick
