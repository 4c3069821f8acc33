// These tests show what distributions refuse, and how they say it; also dtypes and numbers.
#include <gtest/gtest.h>

#include <cmath>
#include <memory>

#include "tests/support/error_of.h"
#include "wick/trainer.h"

namespace wick {
namespace {

using namespace distributions;  // NOLINT: under test
using test::error_of;

template <class F>
void expect_error(F f, const std::string& text) {
  const std::string got = error_of(f);
  EXPECT_NE(got.find(text), std::string::npos) << "got: " << got << "\nwanted: " << text;
  EXPECT_NE(got.find("arguments_test.cc:"), std::string::npos) << "no line: " << got;
}

TEST(Arguments, OfParametersAreChecked) {
  const Tensor bad = tensor({{1., 2.}, {0.5, -1.}});
  expect_error([&] { Normal(0, bad); }, "[Normal] scale must be > 0, got -1 at [1,1]");
  expect_error([&] { Normal(NAN, 1); }, "[Normal] loc must not be NaN, got nan");
  expect_error([&] { Uniform(bad, 1); }, "[Uniform] low must be below high, got 1 at [0,0]");
  expect_error([&] { Exponential(0); }, "[Exponential] rate must be > 0, got 0 ");
  expect_error([&] { Gamma(bad, 1); }, "[Gamma] concentration must be > 0, got -1 at [1,1]");
  expect_error([&] { Gamma(1, bad); }, "[Gamma] rate must be > 0, got -1 at [1,1]");
  expect_error([&] { Dirichlet{bad}; }, "[Dirichlet] concentration must be > 0, got -1 at [1,1]");
  expect_error([&] { Dirichlet(1.0); }, "[Dirichlet] concentration must be [..., k]");
  expect_error([&] { Beta(1, bad); }, "[Beta] concentration0 must be > 0, got -1 at [1,1]");
  expect_error([&] { Bernoulli{bad}; }, "[Bernoulli] probs must be in [0, 1], got 2 at [0,1]");
  expect_error([&] { Bernoulli::from_logits(NAN); }, "[Bernoulli] logits must not be NaN");
  expect_error([&] { Categorical{bad}; }, "[Categorical] probs must be >= 0, got -1 at [1,1]");
  expect_error(
      [&] {
        Categorical(zeros({2, 3}));
      },
      "[Categorical] the probs of a row must have a sum above 0, got 0 at [0,0]");
  expect_error([&] { Categorical(0.5); }, "[Categorical] needs [..., classes]");
  expect_error([&] { Laplace(0, bad); }, "[Laplace] scale must be > 0, got -1 at [1,1]");
  expect_error([&] { LogNormal(0, bad); }, "[LogNormal] scale must be > 0, got -1 at [1,1]");
  expect_error([&] { Geometric(0.0); }, "[Geometric] probs must be in (0, 1], got 0");
  expect_error([&] { Poisson{bad}; }, "[Poisson] rate must be >= 0 and finite, got -1 at [1,1]");
  expect_error([&] { AffineTransform(0, 0.0); }, "[AffineTransform] scale must not be 0");
  expect_error([&] { TransformedDistribution(Normal(0, 1), AffineTransform(0, ones({2}))); },
               "loc and scale [2] do not broadcast to the base's []");
  expect_error(
      [&] {
        MultivariateNormal(zeros({2}), tensor({{1., 0.5}, {0., 1.}}));
      },
      "[MultivariateNormal] covariance must be symmetric, got 0.5 at [0,1]");
  expect_error(
      [&] {
        MultivariateNormal(zeros({2}), tensor({{1., 2.}, {2., 1.}}));
      },
      "is not positive definite: leading minor of order 2");
  expect_error(
      [&] {
        MultivariateNormal::from_scale_tril(zeros({2}), tensor({{1., 1.}, {0., 1.}}));
      },
      "scale_tril must be 0 above the diagonal, got 1 at [0,1]");
  expect_error([&] { MultivariateNormal(zeros({3}), eye(2)); },
               "needs loc [..., n] and covariance [..., n, n], got [3] and [2,2]");
  expect_error([&] { MultivariateNormal(0, eye(2)); }, "got a number and [2,2]");
  expect_error([&] { Normal(zeros({2}, DType::kI64), 1); },
               "[Normal] parameters must be floats, got int64");
  expect_error([&] { Normal(zeros({2}), ones({3})); }, "[2]");
  expect_error([&] { Independent(Normal(zeros({2}), 1), 2); },
               "[Independent] dims must be 0 to 1, the dims of the batch [2], got 2");
}

TEST(Arguments, OfLogProbAreChecked) {
  expect_error(
      [&] {
        Normal(0, 1).log_prob(tensor({1., NAN}));
      },
      "[Normal.log_prob] a value must not be NaN, got nan at [1]");
  expect_error(
      [&] {
        Uniform(0, 1).log_prob(tensor({0.5, 2.}));
      },
      "[Uniform.log_prob] a value must be in [low, high], got 2 at [1]");
  expect_error([&] { Exponential(1).log_prob(tensor({-1.})); }, "a value must be >= 0, got -1");
  expect_error([&] { Gamma(1, 1).log_prob(tensor({-1.})); }, "a value must be >= 0, got -1");
  expect_error(
      [&] {
        Dirichlet(ones({2})).log_prob(tensor({0.5, 0.6}));
      },
      "[Dirichlet.log_prob] a value's parts must sum to 1, got 1.1");
  expect_error([&] { Beta(1, 1).log_prob(tensor({1.5})); }, "must be in [0, 1], got 1.5 at [0]");
  expect_error([&] { Bernoulli(0.5).log_prob(tensor({0.5})); }, "a value must be 0 or 1, got 0.5");
  expect_error(
      [&] {
        Categorical(ones({3})).log_prob(tensor({0, 3}));
      },
      "[Categorical.log_prob] a value must be a whole number in [0, 3), got 3 at [1]");
  expect_error([&] { Categorical(ones({3})).log_prob(tensor({0.5})); }, "a whole number");
  expect_error([&] { Normal(zeros({2}), 1).log_prob(zeros({3})); }, "[Normal.log_prob]");
}

// A value of one number would broadcast against an event of three.
TEST(Arguments, ValuesHaveTheShapeOfAnEvent) {
  expect_error(
      [&] {
        Dirichlet(ones({2, 3})).log_prob(tensor({1.}));
      },
      "[Dirichlet.log_prob] the last dims of a value must be an event's, [3], got [1]");
  expect_error([&] { Dirichlet(ones({3})).log_prob(full({}, 1)); }, "[3], got []");
  const MultivariateNormal of_three(zeros({3}), eye(3), false);
  expect_error(
      [&] {
        of_three.log_prob(zeros({4, 1}));
      },
      "[MultivariateNormal.log_prob] the last dims of a value must be an event's, [3]");
  EXPECT_EQ(of_three.log_prob(zeros({4, 2, 3})).raw_shape(), (Shape{4, 2}));
  expect_error([&] { kl_divergence(Dirichlet(ones({3})), Dirichlet(ones({1}))); },
               "one is of 3 parts, the other of 1");
}

TEST(Arguments, LogitsHaveAClass) {
  const double inf = constants::inf;
  const Tensor one = tensor({{0., -inf}, {-inf, -inf}}), top = tensor({0., inf});
  expect_error([&] { Categorical::from_logits(one); },
               "[Categorical] a row of logits must have one above -inf, got -inf at [1,0]");
  expect_error([&] { Categorical::from_logits(top); }, "logits must not be NaN or inf, got inf");
  EXPECT_EQ(Categorical::from_logits(tensor({0., -inf})).probs().to_vector<float>(),
            (std::vector<float>{1, 0}));
  expect_error([&] { Independent(std::shared_ptr<const Distribution>(), 1); },
               "[Independent] got no distribution");
}

// The parts of a draw in 16 bits sum to 1 within their own rounding.
TEST(Arguments, SixteenBitsHaveABoundOfTheirOwn) {
  Generator g{9, 0};
  for (const DType t : {DType::kF16, DType::kBF16}) {
    const Dirichlet d(full({5}, 2, t));
    EXPECT_EQ(d.log_prob(d.sample({20}, g)).dtype(), t);
    expect_error([&] { d.log_prob(full({5}, 0.5, t)); }, "must sum to 1");
  }
}

TEST(Arguments, AreNotCheckedWhereTheCallerSaysSo) {
  const Tensor scale = tensor({-1.});
  EXPECT_EQ(Normal(0, scale, false).loc().item(), 0);
  EXPECT_TRUE(std::isnan(Normal(0, scale, false).log_prob(tensor({0.})).item()));
  EXPECT_EQ(Uniform(0, 1, false).log_prob(tensor({2.})).item(), -HUGE_VAL);
  EXPECT_TRUE(std::isnan(Gamma(-1, 1, false).sample().item()));
}

TEST(Arguments, NumbersTakeTheOthersDtype) {
  EXPECT_EQ(Normal(0, 1).loc().dtype(), DType::kF32);
  EXPECT_EQ(Normal(0, full({}, 1, DType::kF64)).sample().dtype(), DType::kF64);
  EXPECT_EQ(Normal(zeros({2}), ones({}, DType::kF64)).loc().dtype(), DType::kF64);
  EXPECT_EQ(Normal(zeros({2}, DType::kF16), 1).sample().dtype(), DType::kF16);
  EXPECT_EQ(Gamma(full({2}, 2, DType::kBF16), 1).rsample().dtype(), DType::kBF16);
}

TEST(Arguments, PairsOfOtherFamiliesHaveNoDivergence) {
  expect_error([&] { kl_divergence(Normal(0, 1), Gamma(1, 1)); },
               "[kl_divergence] there is no formula from Normal to Gamma");
  expect_error([&] { kl_divergence(Categorical(ones({3})), Categorical(ones({2}))); },
               "one has 3 classes, the other 2");
  expect_error(
      [&] {
        kl_divergence(Independent(Normal(zeros({2, 2}), 1), 1),
                      Independent(Normal(zeros({2, 2}), 1), 2));
      },
      "one has 1 independent dims, the other 2");
}

TEST(Arguments, DiscreteDrawsAreNotDifferentiable) {
  expect_error([&] { Bernoulli(0.5).rsample(); }, "[Bernoulli] has no rsample()");
  expect_error([&] { Categorical(ones({3})).rsample({2}); }, "[Categorical] has no rsample()");
  EXPECT_FALSE(Categorical(ones({3})).has_rsample());
}

// The classic estimator: the mean of -reward log_prob(draw) has the gradient of the mean reward.
TEST(Arguments, ReinforceFindsTheGradientOfAReward) {
  const Tensor logits = tensor({0.2, -0.4, 0.1}, DType::kF64).requires_grad_();
  const Tensor reward = tensor({1., 2., 5.}, DType::kF64);
  const Tensor want = grad({sum(softmax(logits, 0) * reward)}, {logits})[0];
  Generator g{8, 0};
  const Categorical policy = Categorical::from_logits(logits);
  const Tensor action = policy.sample({40000}, g);
  const Tensor got =
      grad({mean(policy.log_prob(action) * index_select(reward, 0, action))}, {logits})[0];
  EXPECT_LT(amax(abs(got - want)).item(), 0.06);
}

}  // namespace
}  // namespace wick
