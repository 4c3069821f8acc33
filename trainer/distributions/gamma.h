// The gamma distribution, and those made of it: Dirichlet and Beta. Their draws are differentiable
// by implicit reparametrization (Figurnov et al., 2018). The gradient of a draw is not
// differentiable again. They are drawn in float64 on the host, whatever the parameters are.
#pragma once

#include "trainer/distributions/distribution.h"

namespace wick::distributions {

// Its density is rate^c x^(c - 1) e^(-rate x) / Gamma(c), c = concentration:
// torch.distributions.Gamma. Both are > 0. Draws are at least the smallest normal number of the
// dtype.
class Gamma : public Distribution {
 public:
  Gamma(const Param& concentration, const Param& rate, bool validate_args = true);
  // The parameters, in the batch's shape.
  const Tensor& concentration() const { return concentration_; }
  const Tensor& rate() const { return rate_; }
  bool has_rsample() const override { return true; }
  Tensor mean() const override;
  Tensor variance() const override;
  Tensor log_prob(const Arg& value) const override;
  Tensor entropy() const override;

 protected:
  Tensor draw(const Shape& shape, Generator& g, const Where& where) const override;
  Tensor kl_to(const Distribution& q, const Where& where) const override;

 private:
  Gamma(std::vector<Tensor> of, const Where& line, bool validate_args);
  Tensor concentration_, rate_;
};

// Over vectors of k parts >= 0 that sum to 1: torch.distributions.Dirichlet. concentration[..., k]
// > 0; the event is its last dim. Draws are clamped to [tiny, 1 - eps] of the dtype.
class Dirichlet : public Distribution {
 public:
  explicit Dirichlet(const Param& concentration, bool validate_args = true);
  // The parameter, [B, k].
  const Tensor& concentration() const { return concentration_; }
  bool has_rsample() const override { return true; }
  Tensor mean() const override;
  Tensor variance() const override;
  Tensor log_prob(const Arg& value) const override;
  Tensor entropy() const override;

 protected:
  Tensor draw(const Shape& shape, Generator& g, const Where& where) const override;
  Tensor kl_to(const Distribution& q, const Where& where) const override;

 private:
  Dirichlet(std::vector<Tensor> of, const Where& line, bool validate_args);
  Tensor concentration_;
};

// Its density is x^(c1 - 1) (1 - x)^(c0 - 1) / B(c1, c0) on [0, 1]: torch.distributions.Beta. Both
// concentrations are > 0.
class Beta : public Distribution {
 public:
  Beta(const Param& concentration1, const Param& concentration0, bool validate_args = true);
  // The exponents of x and of 1 - x, plus 1, in the batch's shape.
  const Tensor& concentration1() const { return one_; }
  const Tensor& concentration0() const { return zero_; }
  bool has_rsample() const override { return true; }
  Tensor mean() const override;
  Tensor variance() const override;
  Tensor log_prob(const Arg& value) const override;
  Tensor entropy() const override;

 protected:
  Tensor draw(const Shape& shape, Generator& g, const Where& where) const override;
  Tensor kl_to(const Distribution& q, const Where& where) const override;

 private:
  Beta(std::vector<Tensor> of, const Where& line, bool validate_args);
  Dirichlet both() const;  // of [c1, c0]
  Tensor one_, zero_;
};

}  // namespace wick::distributions
