// Normal, uniform, exponential and Laplace distributions.
#pragma once

#include "trainer/distributions/distribution.h"

namespace wick::distributions {

// N(loc, scale^2): torch.distributions.Normal. scale > 0.
class Normal : public Distribution {
 public:
  Normal(const Param& loc, const Param& scale, bool validate_args = true);
  // The mean and the standard deviation, in the batch's shape.
  const Tensor& loc() const { return loc_; }
  const Tensor& scale() const { return scale_; }
  bool has_rsample() const override { return true; }
  Tensor mean() const override { return loc_; }
  Tensor variance() const override;
  Tensor log_prob(const Arg& value) const override;
  Tensor entropy() const override;

 protected:
  Tensor draw(const Shape& shape, Generator& g, const Where& where) const override;
  Tensor kl_to(const Distribution& q, const Where& where) const override;

 private:
  Normal(std::vector<Tensor> of, const Where& line, bool validate_args);
  Tensor loc_, scale_;
};

// All numbers of [low, high) alike: torch.distributions.Uniform. low < high; log_prob() is -inf at
// high itself. A divergence is infinite where q does not cover p.
class Uniform : public Distribution {
 public:
  Uniform(const Param& low, const Param& high, bool validate_args = true);
  // The bounds, in the batch's shape.
  const Tensor& low() const { return low_; }
  const Tensor& high() const { return high_; }
  bool has_rsample() const override { return true; }
  Tensor mean() const override;
  Tensor variance() const override;
  Tensor log_prob(const Arg& value) const override;
  Tensor entropy() const override;

 protected:
  Tensor draw(const Shape& shape, Generator& g, const Where& where) const override;
  Tensor kl_to(const Distribution& q, const Where& where) const override;

 private:
  Uniform(std::vector<Tensor> of, const Where& line, bool validate_args);
  Tensor low_, high_;
};

// Its density is rate e^(-rate x), x >= 0: torch.distributions.Exponential. rate > 0.
class Exponential : public Distribution {
 public:
  explicit Exponential(const Param& rate, bool validate_args = true);
  // The rate, 1 / mean.
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
  Exponential(std::vector<Tensor> of, const Where& line, bool validate_args);
  Tensor rate_;
};

// Its density is e^(-|x - loc| / scale) / (2 scale): torch.distributions.Laplace. scale > 0.
class Laplace : public Distribution {
 public:
  Laplace(const Param& loc, const Param& scale, bool validate_args = true);
  // The mean, and the mean distance from it, in the batch's shape.
  const Tensor& loc() const { return loc_; }
  const Tensor& scale() const { return scale_; }
  bool has_rsample() const override { return true; }
  Tensor mean() const override { return loc_; }
  Tensor variance() const override;
  Tensor log_prob(const Arg& value) const override;
  Tensor entropy() const override;

 protected:
  Tensor draw(const Shape& shape, Generator& g, const Where& where) const override;
  Tensor kl_to(const Distribution& q, const Where& where) const override;

 private:
  Laplace(std::vector<Tensor> of, const Where& line, bool validate_args);
  Tensor loc_, scale_;
};

}  // namespace wick::distributions
