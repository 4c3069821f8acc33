// The multivariate normal distribution, and dims of a batch that become the event's.
#pragma once

#include <concepts>
#include <memory>

#include "trainer/distributions/distribution.h"

namespace wick::distributions {

// N(loc, covariance) of vectors of n numbers: torch.distributions.MultivariateNormal. loc[..., n],
// covariance[..., n, n], symmetric and positive definite, of float32 or float64; their leading dims
// broadcast. For independent numbers Independent(Normal(loc, scale), 1) costs less.
class MultivariateNormal : public Distribution {
 public:
  MultivariateNormal(const Param& loc, const Param& covariance, bool validate_args = true);
  // By L of covariance = L L^T: lower triangular, positive on the diagonal. Nothing is factored.
  static MultivariateNormal from_scale_tril(const Param& loc, const Param& scale_tril,
                                            bool validate_args = true);
  // The mean, [B, n], and L, [..., n, n] as it was given.
  const Tensor& loc() const { return loc_; }
  const Tensor& scale_tril() const { return scale_tril_; }
  Tensor covariance_matrix() const;  // L L^T
  bool has_rsample() const override { return true; }
  Tensor mean() const override { return loc_; }
  Tensor variance() const override;
  Tensor log_prob(const Arg& value) const override;
  Tensor entropy() const override;

 protected:
  Tensor draw(const Shape& shape, Generator& g, const Where& where) const override;
  Tensor kl_to(const Distribution& q, const Where& where) const override;

 private:
  struct Parts {
    Tensor loc, scale_tril;
  };
  MultivariateNormal(const Parts& parts, bool validate_args);
  static Parts parts_of(const Param& loc, const Param& matrix, bool is_covariance, bool validate);
  Tensor loc_, scale_tril_;
};

// The last `dims` dims of a distribution's batch as dims of its events, over which log_prob(),
// entropy() and kl_divergence() are sums: torch.distributions.Independent.
class Independent : public Distribution {
 public:
  Independent(std::shared_ptr<const Distribution> base, int dims, Where where = Where::current());
  // Makes one of a copy of `base`: Independent(Normal(mu, sigma), 1).
  template <std::derived_from<Distribution> D>
  Independent(const D& base, int dims, Where where = Where::current())
      : Independent(std::make_shared<const D>(base), dims, where) {}
  // The distribution that it was made of.
  const Distribution& base() const { return *base_; }
  bool has_rsample() const override { return base_->has_rsample(); }
  Tensor mean() const override { return base_->mean(); }
  Tensor variance() const override { return base_->variance(); }
  Tensor log_prob(const Arg& value) const override;
  Tensor entropy() const override;

 protected:
  Tensor draw(const Shape& shape, Generator& g, const Where& where) const override;
  Tensor kl_to(const Distribution& q, const Where& where) const override;

 private:
  std::shared_ptr<const Distribution> base_;
  int dims_;
};

}  // namespace wick::distributions
