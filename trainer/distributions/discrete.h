// Bernoulli, categorical and geometric distributions, by probabilities or by logits, and Poisson's.
// Their draws are not differentiable: -log_prob(draw) times a reward is REINFORCE's loss.
#pragma once

#include "trainer/distributions/distribution.h"

namespace wick::distributions {

// 1 with probability probs, else 0: torch.distributions.Bernoulli. Draws are floats.
class Bernoulli : public Distribution {
 public:
  // probs in [0, 1]; logits are log(p / (1 - p)), any number.
  explicit Bernoulli(const Param& probs, bool validate_args = true);
  static Bernoulli from_logits(const Param& logits, bool validate_args = true);
  // The parameter that was given, and the other one computed from it; logits of probabilities that
  // are clamped to [eps, 1 - eps], as PyTorch's.
  Tensor probs() const;
  Tensor logits() const;
  Tensor mean() const override { return probs(); }
  Tensor variance() const override;
  Tensor log_prob(const Arg& value) const override;  // value: 0 or 1
  Tensor entropy() const override;

 protected:
  Tensor draw(const Shape& shape, Generator& g, const Where& where) const override;
  Tensor kl_to(const Distribution& q, const Where& where) const override;

 private:
  Bernoulli(std::vector<Tensor> of, bool is_logits, const Where& line, bool validate_args);
  Tensor given_;
  bool is_logits_;
};

// One of k classes: torch.distributions.Categorical. The parameter is [..., k]; draws are int64 of
// shape ..., and so are values.
class Categorical : public Distribution {
 public:
  // probs are weights >= 0, not all 0 in a row: they are divided by their sum. logits are any
  // numbers: their log_softmax counts; -inf excludes a class.
  explicit Categorical(const Param& probs, bool validate_args = true);
  static Categorical from_logits(const Param& logits, bool validate_args = true);
  // Normalized, the parameter that was given and the other one computed from it: [..., k].
  Tensor probs() const;
  Tensor logits() const;
  // NaN: classes have no mean.
  Tensor mean() const override;
  Tensor variance() const override;
  Tensor log_prob(const Arg& value) const override;
  Tensor entropy() const override;

 protected:
  Tensor draw(const Shape& shape, Generator& g, const Where& where) const override;
  Tensor kl_to(const Distribution& q, const Where& where) const override;

 private:
  Categorical(std::vector<Tensor> of, bool is_logits, const Where& line, bool validate_args);
  Tensor given_;  // normalized
  bool is_logits_;
};

// Categorical whose values are rows of k numbers, 1 at the class and else 0:
// torch.distributions.OneHotCategorical. The event is [k]; draws are floats.
class OneHotCategorical : public Distribution {
 public:
  explicit OneHotCategorical(const Param& probs, bool validate_args = true);
  // As Categorical's.
  static OneHotCategorical from_logits(const Param& logits, bool validate_args = true);
  // The parameters of the classes, as Categorical's.
  Tensor probs() const { return classes_.probs(); }
  Tensor logits() const { return classes_.logits(); }
  Tensor mean() const override { return probs(); }
  Tensor variance() const override;
  Tensor log_prob(const Arg& value) const override;
  Tensor entropy() const override { return classes_.entropy(); }

 protected:
  Tensor draw(const Shape& shape, Generator& g, const Where& where) const override;
  Tensor kl_to(const Distribution& q, const Where& where) const override;

 private:
  OneHotCategorical(const Categorical& classes, bool validate_args);
  Categorical classes_;
};

// The number of failures before the first success, each try with probability probs:
// torch.distributions.Geometric. Draws are floats.
class Geometric : public Distribution {
 public:
  // probs in (0, 1]; logits are log(p / (1 - p)), any number.
  explicit Geometric(const Param& probs, bool validate_args = true);
  static Geometric from_logits(const Param& logits, bool validate_args = true);
  // As Bernoulli's.
  Tensor probs() const;
  Tensor logits() const;
  Tensor mean() const override;
  Tensor variance() const override;
  Tensor log_prob(const Arg& value) const override;  // value: 0, 1, 2 ...
  Tensor entropy() const override;

 protected:
  Tensor draw(const Shape& shape, Generator& g, const Where& where) const override;
  Tensor kl_to(const Distribution& q, const Where& where) const override;

 private:
  Geometric(std::vector<Tensor> of, bool is_logits, const Where& line, bool validate_args);
  Tensor given_;
  bool is_logits_;
};

// k with probability rate^k e^-rate / k!: torch.distributions.Poisson. rate >= 0. Draws are floats.
// entropy() throws Error: it has no formula.
class Poisson : public Distribution {
 public:
  explicit Poisson(const Param& rate, bool validate_args = true);
  // The mean, which is the variance too.
  const Tensor& rate() const { return rate_; }
  Tensor mean() const override { return rate_; }
  Tensor variance() const override { return rate_; }
  Tensor log_prob(const Arg& value) const override;  // value: 0, 1, 2 ...
  Tensor entropy() const override;

 protected:
  Tensor draw(const Shape& shape, Generator& g, const Where& where) const override;
  Tensor kl_to(const Distribution& q, const Where& where) const override;

 private:
  Poisson(std::vector<Tensor> of, const Where& line, bool validate_args);
  Tensor rate_;
};

}  // namespace wick::distributions
