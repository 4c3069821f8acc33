// Bernoulli and categorical distributions, by probabilities or by logits. Their draws are not
// differentiable: -log_prob(draw) times a reward is REINFORCE's loss.
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

}  // namespace wick::distributions
