// Distributions of a function of a random variable, and such functions.
#pragma once

#include <concepts>
#include <memory>
#include <vector>

#include "trainer/distributions/distribution.h"

namespace wick::distributions {

// A function of each number of its argument that has an inverse: torch.distributions.Transform.
class Transform {
 public:
  virtual ~Transform() = default;
  // Returns the name of the class: "ExpTransform".
  virtual const char* name() const = 0;
  // Returns the value for each x.
  virtual Tensor operator()(const Arg& x) const = 0;
  // Returns the x that has the value y.
  virtual Tensor inv(const Arg& y) const = 0;
  // Returns log |dy / dx| for y = f(x), in x's shape.
  virtual Tensor log_abs_det_jacobian(const Arg& x, const Arg& y) const = 0;
  // Throws Error in the name of `op` unless y is a value of the function.
  virtual void check_value(const char* op, const Arg& y) const = 0;
  // Returns whether both are one function. `o` is of the same class.
  virtual bool equals(const Transform& /*o*/) const { return true; }
  // Throws Error unless a shape is that of the function's values, too.
  virtual void check_shape(const Shape& /*shape*/) const {}
};

// e^x.
class ExpTransform : public Transform {
 public:
  const char* name() const override { return "ExpTransform"; }
  Tensor operator()(const Arg& x) const override;
  Tensor inv(const Arg& y) const override;
  Tensor log_abs_det_jacobian(const Arg& x, const Arg& y) const override;
  void check_value(const char* op, const Arg& y) const override;
};

// 1 / (1 + e^-x), within (0, 1) also where the dtype would round to an end.
class SigmoidTransform : public Transform {
 public:
  const char* name() const override { return "SigmoidTransform"; }
  Tensor operator()(const Arg& x) const override;
  Tensor inv(const Arg& y) const override;
  Tensor log_abs_det_jacobian(const Arg& x, const Arg& y) const override;
  void check_value(const char* op, const Arg& y) const override;
};

// tanh x. Its inverse of 1 is infinite: keep what was drawn before, or clamp the values.
class TanhTransform : public Transform {
 public:
  const char* name() const override { return "TanhTransform"; }
  Tensor operator()(const Arg& x) const override;
  Tensor inv(const Arg& y) const override;
  Tensor log_abs_det_jacobian(const Arg& x, const Arg& y) const override;
  void check_value(const char* op, const Arg& y) const override;
};

// loc + scale x, scale != 0. Its parameters broadcast to the base's shape; numbers take the dtype
// of x.
class AffineTransform : public Transform {
 public:
  AffineTransform(const Param& loc, const Param& scale);
  // The parameters, in one dtype and shape; numbers in float64.
  const Tensor& loc() const { return loc_; }
  const Tensor& scale() const { return scale_; }
  const char* name() const override { return "AffineTransform"; }
  Tensor operator()(const Arg& x) const override;
  Tensor inv(const Arg& y) const override;
  Tensor log_abs_det_jacobian(const Arg& x, const Arg& y) const override;
  void check_value(const char* op, const Arg& y) const override;
  bool equals(const Transform& o) const override;
  void check_shape(const Shape& shape) const override;

 private:
  Tensor beside(const Tensor& parameter, const Arg& x) const;
  bool numbers_;
  Tensor loc_, scale_;
  Where where_;
};

// What comes of draws of a base by one function after the other:
// torch.distributions.TransformedDistribution.
//
//   TransformedDistribution action(Normal(mu, sigma), TanhTransform(), AffineTransform(0, 2));
//
// mean(), variance() and entropy() throw Error: they have no formula. A divergence is that of the
// bases, for two that have the same transforms.
class TransformedDistribution : public Distribution {
 public:
  // The functions, the first one of the base's draws.
  using Transforms = std::vector<std::shared_ptr<const Transform>>;
  TransformedDistribution(std::shared_ptr<const Distribution> base, Transforms transforms,
                          Where where = Where::current());
  // Makes one of copies.
  template <std::derived_from<Distribution> D, std::derived_from<Transform>... T>
  explicit TransformedDistribution(const D& base, const T&... transforms)
      : TransformedDistribution(std::make_shared<const D>(base),
                                Transforms{std::make_shared<const T>(transforms)...}) {}
  TransformedDistribution(const TransformedDistribution&) = default;
  // What it was made of.
  const Distribution& base() const { return *base_; }
  const Transforms& transforms() const { return transforms_; }
  bool has_rsample() const override { return base_->has_rsample(); }
  Tensor mean() const override;
  Tensor variance() const override;
  Tensor log_prob(const Arg& value) const override;
  Tensor entropy() const override;

 protected:
  Tensor draw(const Shape& shape, Generator& g, const Where& where) const override;
  Tensor kl_to(const Distribution& q, const Where& where) const override;

 private:
  std::shared_ptr<const Distribution> base_;
  Transforms transforms_;
};

// e^x of a normal number x: torch.distributions.LogNormal. loc and scale > 0 are x's.
class LogNormal : public Distribution {
 public:
  LogNormal(const Param& loc, const Param& scale, bool validate_args = true);
  // The mean and the standard deviation of the logarithm, in the batch's shape.
  const Tensor& loc() const { return loc_; }
  const Tensor& scale() const { return scale_; }
  bool has_rsample() const override { return true; }
  Tensor mean() const override;
  Tensor variance() const override;
  Tensor log_prob(const Arg& value) const override;
  Tensor entropy() const override;

 protected:
  Tensor draw(const Shape& shape, Generator& g, const Where& where) const override;
  Tensor kl_to(const Distribution& q, const Where& where) const override;

 private:
  LogNormal(std::vector<Tensor> of, const Where& line, bool validate_args);
  Tensor loc_, scale_;
};

}  // namespace wick::distributions
