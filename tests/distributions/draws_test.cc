// Draws: their distribution functions (Kolmogorov and Smirnov), moments, seeds, threads, and the
// pathwise gradients, whose means over draws are the gradients of known means.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>

#include "tests/support/error_of.h"
#include "wick/trainer.h"

namespace wick {
namespace {

using namespace distributions;  // NOLINT: under test

constexpr int64_t kDraws = 20000;
constexpr DType kD = DType::kF64;

Tensor number(double v) { return full({}, v, kD); }

// P(alpha, x), the distribution function of Gamma(alpha, 1): its series, or 1 minus the continued
// fraction of the rest.
double gamma_cdf(double alpha, double x) {
  if (x <= 0) return 0;
  const double front = std::exp(alpha * std::log(x) - x - std::lgamma(alpha));
  if (x < alpha + 1) {
    double term = 1 / alpha, sum = term;
    for (int n = 1; n < 500; ++n) sum += term *= x / (alpha + n);
    return front * sum;
  }
  double tail = 0;  // from the innermost fraction outwards
  for (int n = 500; n >= 1; --n) tail = n * (n - alpha) / (x + 2 * n + 1 - alpha - tail);
  return 1 - front / (x + 1 - alpha - tail);
}

// sqrt(n) times the largest distance between the draws' distribution function and `cdf`: above 1.95
// once in a thousand seeds.
double kolmogorov(const Tensor& draws, const std::function<double(double)>& cdf) {
  std::vector<double> x = draws.to(kD).to_vector<double>();
  std::sort(x.begin(), x.end());
  const auto n = static_cast<double>(x.size());
  double most = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    const double f = cdf(x[i]), at = static_cast<double>(i);
    most = std::max({most, f - at / n, (at + 1) / n - f});
  }
  return most * std::sqrt(n);
}

void expect_distributed(const Distribution& d, const std::function<double(double)>& cdf) {
  Generator g{7, 0};
  const Tensor draws = d.sample({kDraws}, g);
  EXPECT_FALSE(draws.requires_grad());
  EXPECT_EQ(g.stream, 1U) << "a call uses one stream";
  EXPECT_LT(kolmogorov(draws, cdf), 1.95) << d.name();
}

TEST(Draws, FollowTheirDistributionFunctions) {
  expect_distributed(Normal(number(1), number(2)),
                     [](double x) { return 0.5 * std::erfc((1 - x) / (2 * std::sqrt(2))); });
  expect_distributed(Normal(1, 2),  // float32
                     [](double x) { return 0.5 * std::erfc((1 - x) / (2 * std::sqrt(2))); });
  expect_distributed(Uniform(number(-1), number(3)), [](double x) { return (x + 1) / 4; });
  expect_distributed(Exponential(number(0.5)), [](double x) { return -std::expm1(-0.5 * x); });
  for (double alpha : {0.05, 0.3, 0.99, 1.0, 1.5, 7.0, 80.0}) {
    expect_distributed(Gamma(number(alpha), number(2)),
                       [&](double x) { return gamma_cdf(alpha, 2 * x); });
  }
  expect_distributed(Gamma(3, 1), [](double x) { return gamma_cdf(3, x); });
  expect_distributed(Beta(number(1), number(3)), [](double x) { return 1 - std::pow(1 - x, 3); });
  expect_distributed(Laplace(number(1), number(2)), [](double x) {
    return x < 1 ? 0.5 * std::exp((x - 1) / 2) : 1 - 0.5 * std::exp((1 - x) / 2);
  });
  expect_distributed(LogNormal(number(1), number(2)), [](double x) {
    return 0.5 * std::erfc((1 - std::log(x)) / (2 * std::sqrt(2)));
  });
  expect_distributed(TransformedDistribution(Uniform(number(0), number(1)), AffineTransform(1, -2)),
                     [](double x) { return (x + 1) / 2; });
  expect_distributed(TransformedDistribution(Normal(number(1), number(2)), SigmoidTransform()),
                     [](double y) {
                       const double x = std::log(y / (1 - y));
                       return 0.5 * std::erfc((1 - x) / (2 * std::sqrt(2)));
                     });
  expect_distributed(
      TransformedDistribution(Normal(number(1), number(2)), TanhTransform()),
      [](double y) { return 0.5 * std::erfc((1 - std::atanh(y)) / (2 * std::sqrt(2))); });
  expect_distributed(Beta(number(0.2), number(1)), [](double x) { return std::pow(x, 0.2); });
}

// Means and variances over draws are those that the distribution states, within five standard
// errors; that of a variance is taken from the draws.
void expect_moments(const Distribution& d) {
  Generator g{11, 0};
  const Tensor x = d.sample({kDraws}, g).to(kD);
  const Tensor m = mean(x, {0}), off = x - m, v = mean(square(off), {0});
  const double root = std::sqrt(static_cast<double>(kDraws));
  const Tensor error_of_mean = sqrt(v) * (5 / root);
  const Tensor error_of_var = sqrt(mean(square(square(off) - v), {0})) * (5 / root);
  EXPECT_NE(all(le(abs(m - d.mean()), error_of_mean)).item(), 0) << d.name();
  EXPECT_NE(all(le(abs(v - d.variance()), error_of_var)).item(), 0) << d.name();
}

TEST(Draws, HaveTheMomentsOfTheirDistributions) {
  expect_moments(Normal(tensor({1., -2.}, kD), tensor({0.5, 3.}, kD)));
  expect_moments(Uniform(tensor({0., -5.}, kD), number(2)));
  expect_moments(Exponential(tensor({0.5, 4.}, kD)));
  expect_moments(Gamma(tensor({0.2, 1., 9.}, kD), tensor({3., 0.5, 2.}, kD)));
  expect_moments(Dirichlet(tensor({{0.3, 1., 4.}, {2., 2., 0.1}}, kD)));
  expect_moments(Beta(tensor({0.5, 6.}, kD), number(2)));
  expect_moments(Bernoulli(tensor({0.1, 0.7}, kD)));
  expect_moments(Laplace(tensor({1., -2.}, kD), tensor({0.5, 3.}, kD)));
  expect_moments(LogNormal(tensor({1., -2.}, kD), tensor({0.5, 0.3}, kD)));
  expect_moments(Geometric(tensor({0.05, 0.5, 1.}, kD)));
  expect_moments(Poisson(tensor({0., 0.1, 3., 9.9, 10., 25., 4000.}, kD)));
  expect_moments(OneHotCategorical(tensor({{0.1, 0.2, 0.7}, {0.5, 0., 0.5}}, kD)));
  expect_moments(MultivariateNormal(tensor({1., -1.}, kD), tensor({{2., 0.6}, {0.6, 1.}}, kD)));
  expect_moments(Independent(Normal(tensor({1., -2.}, kD), number(3)), 1));
}

// Poisson's draws have their probabilities on both sides of where the algorithm changes: chi
// squared of the classes that are expected five times or more.
TEST(Draws, OfPoissonHaveTheirProbabilities) {
  for (double rate : {0.3, 4.0, 9.99, 10.0, 37.0, 1000.0}) {
    Generator g{13, 0};
    const std::vector<double> x = Poisson(number(rate)).sample({kDraws}, g).to_vector<double>();
    std::map<double, double> seen;
    for (double k : x) ++seen[k];
    double chi = 0, classes = 0, rest = kDraws, seen_rest = kDraws;
    const double reach = 8 * std::sqrt(rate) + 8;
    for (double k = std::max(0.0, std::floor(rate - reach)); k < rate + reach; ++k) {
      const double expected = kDraws * std::exp(k * std::log(rate) - rate - std::lgamma(k + 1));
      if (expected < 5) continue;
      chi += (seen[k] - expected) * (seen[k] - expected) / expected;
      rest -= expected, seen_rest -= seen[k], ++classes;
    }
    if (rest > 1) chi += (seen_rest - rest) * (seen_rest - rest) / rest;
    EXPECT_LT(chi, classes + 4 * std::sqrt(2 * classes) + 4) << rate;
  }
}

TEST(Draws, OfAMultivariateNormalCovary) {
  Generator g{5, 0};
  const Tensor c = tensor({{2., 0.6}, {0.6, 1.}}, kD);
  const Tensor x = MultivariateNormal(zeros({2}, kD), c).sample({kDraws}, g);
  EXPECT_NEAR(mean(x.select(1, 0) * x.select(1, 1)).item(), 0.6, 0.06);
}

TEST(Draws, OfClassesHaveTheirFrequencies) {
  const Tensor probs = tensor({{0.1, 0.2, 0.7}, {0.5, 0., 0.5}}, kD);
  Generator g{3, 0};
  const Tensor x = Categorical(probs).sample({kDraws}, g);
  EXPECT_EQ(x.dtype(), DType::kI64);
  EXPECT_EQ(x.raw_shape(), (Shape{kDraws, 2}));
  const Tensor share = mean(one_hot(x, 3).to(kD), {0});
  EXPECT_LT(amax(abs(share - probs)).item(), 5 * std::sqrt(0.25 / kDraws));
  EXPECT_EQ(share.index({1, 1}).item(), 0) << "a class of probability 0";
}

std::vector<std::unique_ptr<Distribution>> one_of_each() {
  std::vector<std::unique_ptr<Distribution>> all;
  const Tensor a = tensor({0.2, 0.7, 0.9}), b = tensor({1.5, 3., 0.8});
  all.push_back(std::make_unique<Normal>(a, b));
  all.push_back(std::make_unique<Uniform>(neg(a), b));
  all.push_back(std::make_unique<Exponential>(a));
  all.push_back(std::make_unique<Gamma>(a, b));
  all.push_back(std::make_unique<Dirichlet>(a));
  all.push_back(std::make_unique<Beta>(a, b));
  all.push_back(std::make_unique<Bernoulli>(a));
  all.push_back(std::make_unique<Categorical>(a));
  all.push_back(std::make_unique<MultivariateNormal>(a, eye(3)));
  all.push_back(std::make_unique<Laplace>(a, b));
  all.push_back(std::make_unique<LogNormal>(a, b));
  all.push_back(std::make_unique<Geometric>(a));
  all.push_back(std::make_unique<Poisson>(b * 10));
  all.push_back(std::make_unique<OneHotCategorical>(a));
  all.push_back(std::make_unique<TransformedDistribution>(Normal(a, b), TanhTransform()));
  all.push_back(std::make_unique<Independent>(Normal(a, b), 1));
  return all;
}

TEST(Draws, DependOnTheSeedAndNothingElse) {
  const int threads = num_threads();
  for (const auto& d : one_of_each()) {
    std::vector<double> first;
    for (int n : {1, 3}) {
      set_num_threads(n);
      Generator g{42, 9};
      const Tensor x = d->sample({500}, g);
      EXPECT_EQ(g.stream, 10U) << d->name();
      const std::vector<double> v = x.to(kD).to_vector<double>();
      if (first.empty()) first = v;
      EXPECT_EQ(v, first) << d->name() << ", threads " << n;
      EXPECT_NE(d->sample({500}, g).to(kD).to_vector<double>(), first) << d->name();
    }
  }
  set_num_threads(threads);
}

TEST(Draws, HaveTheSamplesShapeThenTheBatchsThenTheEvents) {
  for (const auto& d : one_of_each()) {
    for (const Shape& s : {Shape{}, Shape{4}, Shape{2, 5}, Shape{0}, Shape{3, 0}}) {
      Shape want = s;
      for (int64_t n : d->batch_shape()) want.push_back(n);
      for (int64_t n : d->event_shape()) want.push_back(n);
      const Tensor x = d->sample(s);
      EXPECT_EQ(x.raw_shape(), want) << d->name();
      Shape results = s;
      for (int64_t n : d->batch_shape()) results.push_back(n);
      EXPECT_EQ(d->log_prob(x).raw_shape(), results) << d->name();
    }
    const std::string name = d->name();
    if (name == "Poisson" || name == "TransformedDistribution") {
      EXPECT_NE(test::error_of([&] { d->entropy(); }).find("has no entropy()"), std::string::npos);
    } else {
      EXPECT_EQ(d->entropy().raw_shape(), d->batch_shape()) << name;
    }
  }
}

// rsample() has sample()'s bits, and the support's ends are never left.
TEST(Draws, WithAGradientAreThoseWithout) {
  for (const auto& d : one_of_each()) {
    if (!d->has_rsample()) continue;
    Generator a{1, 0}, b{1, 0};
    EXPECT_TRUE(equal(d->sample({100}, a), d->rsample({100}, b))) << d->name();
  }
}

TEST(Draws, OfSmallConcentrationsStayInside) {
  Generator g{2, 0};
  for (DType t : {DType::kF32, DType::kF64}) {
    const Tensor tiny = full({1000}, 1e-3, t);
    const Tensor z = Gamma(tiny, 1).sample({}, g);
    EXPECT_GE(amin(z).item(), finfo(t).tiny);
    const Tensor x = Dirichlet(full({500, 3}, 1e-4, t)).rsample({}, g);
    EXPECT_GT(amin(x).item(), 0);
    EXPECT_LT(amax(x).item(), 1);
    const Tensor y = Beta(full({500}, 1e-3, t), full({}, 1e-3, t)).sample({}, g);
    EXPECT_EQ(any(ne(y, y)).item(), 0);
  }
}

// The mean of d f(draw) / d parameter over many draws, for f whose mean is known.
double pathwise(const Tensor& parameter, const Tensor& result) {
  return grad({mean(result)}, {parameter})[0].item();
}

TEST(Pathwise, GradientsOfMeansAreKnown) {
  Generator g{21, 0};
  const double root = std::sqrt(static_cast<double>(kDraws));
  for (double alpha : {0.1, 0.6, 1.0, 3.0, 40.0, 200.0}) {
    const Tensor a = number(alpha).requires_grad_(), rate = number(2).requires_grad_();
    // E[z] = alpha / rate, E[log z] = digamma(alpha) - log rate
    const Tensor z = Gamma(a, rate).rsample({kDraws}, g);
    EXPECT_NEAR(pathwise(a, z), 0.5, 0.5 * 15 / root) << alpha;
    const double trigamma = polygamma(1, number(alpha)).item();
    if (alpha >= 0.6) {  // smaller draws are clamped
      EXPECT_NEAR(pathwise(a, log(Gamma(a, rate).rsample({kDraws}, g))), trigamma,
                  trigamma * 15 / root)
          << alpha;
    }
    EXPECT_NEAR(pathwise(rate, Gamma(a, rate).rsample({kDraws}, g)), -alpha / 4,
                alpha / 4 * 6 * std::max(1.0, 1 / std::sqrt(alpha)) / root);
  }
  const Tensor scale = number(3).requires_grad_(), loc = number(1).requires_grad_();
  EXPECT_NEAR(pathwise(loc, Normal(loc, scale).rsample({kDraws}, g)), 1, 1e-12);
  // E[x^2] = loc^2 + scale^2
  EXPECT_NEAR(pathwise(scale, square(Normal(loc, scale).rsample({kDraws}, g))), 6, 6 * 8 / root);
  const Tensor low = number(1).requires_grad_(), high = number(4).requires_grad_();
  EXPECT_NEAR(pathwise(low, Uniform(low, high).rsample({kDraws}, g)), 0.5, 2 / root);
  EXPECT_NEAR(pathwise(high, Uniform(low, high).rsample({kDraws}, g)), 0.5, 2 / root);
  const Tensor rate = number(2).requires_grad_();
  EXPECT_NEAR(pathwise(rate, Exponential(rate).rsample({kDraws}, g)), -0.25, 0.25 * 6 / root);
}

TEST(Pathwise, GradientsOfDirichletAndBetaMeans) {
  Generator g{22, 0};
  for (double scale : {0.2, 1.0, 20.0}) {
    const Tensor c = (tensor({1., 2., 3.}, kD) * scale).detach().requires_grad_();
    const Tensor x = Dirichlet(c).rsample({kDraws}, g);
    const std::vector<double> got = grad({mean(x.select(1, 0))}, {c})[0].to_vector<double>();
    const double total = 6 * scale;  // E[x_0] = c_0 / total
    EXPECT_NEAR(got[0], 5 * scale / total / total, 0.03 / scale);
    EXPECT_NEAR(got[1], -scale / total / total, 0.03 / scale);
    EXPECT_NEAR(got[2], -scale / total / total, 0.03 / scale);
    const Tensor a = number(scale).requires_grad_(), b = number(2 * scale).requires_grad_();
    const std::vector<Tensor> slopes = grad({mean(Beta(a, b).rsample({kDraws}, g))}, {a, b});
    EXPECT_NEAR(slopes[0].item(), 2 / (9 * scale), 0.03 / scale);
    EXPECT_NEAR(slopes[1].item(), -1 / (9 * scale), 0.03 / scale);
  }
}

TEST(Pathwise, GradientOfAMultivariateNormal) {
  Generator g{23, 0};
  const Tensor l = tensor({{1., 0.}, {0.5, 2.}}, kD).requires_grad_(), loc = zeros({2}, kD);
  const Tensor x = MultivariateNormal::from_scale_tril(loc, l).rsample({kDraws}, g);
  // E[x_1^2] = l_10^2 + l_11^2
  const std::vector<double> got = grad({mean(square(x.select(1, 1)))}, {l})[0].to_vector<double>();
  EXPECT_NEAR(got[2], 1, 0.15);
  EXPECT_NEAR(got[3], 4, 0.2);
}

// A draw that is 0 moves with no concentration: 0, not 0 times infinity.
TEST(Pathwise, GradientOfTheSmallestConcentrations) {
  Generator g{24, 0};
  for (double alpha : {1e-30, 1e-160, 1e-300}) {
    const Tensor a = full({50}, alpha, kD).requires_grad_();
    const Tensor z = Gamma(a, 1).rsample({}, g);
    const Tensor slope = grad({sum(z)}, {a})[0];
    EXPECT_NE(all(isfinite(slope)).item(), 0) << alpha;
    EXPECT_GE(amin(slope).item(), 0) << alpha;
  }
}

TEST(Pathwise, GammasGradientIsNotDifferentiable) {
  const Tensor a = number(2).requires_grad_();
  const Tensor z = Gamma(a, 1).rsample();
  const Tensor first = grad({z}, {a}, {}, false, true)[0];
  EXPECT_THROW(grad({first}, {a}), Error);
}

}  // namespace
}  // namespace wick
