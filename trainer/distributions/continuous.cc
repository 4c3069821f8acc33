#include "trainer/distributions/continuous.h"

#include "trainer/distributions/check.h"
#include "trainer/tensor/device/vulkan_memory.h"

namespace wick::distributions {

Normal::Normal(const Param& loc, const Param& scale, bool validate_args)
    : Normal(parameters("Normal", {loc, scale}), loc.where, validate_args) {}

Normal::Normal(std::vector<Tensor> of, const Where& line, bool validate_args)
    : Distribution("Normal", of[0].raw_shape(), {}, validate_args), loc_(of[0]), scale_(of[1]) {
  if (!validate_args) return;
  require_real("Normal", "loc", loc_, line);
  require_positive("Normal", "scale", scale_, line);
}

Tensor Normal::variance() const { return square(scale_); }

Tensor Normal::log_prob(const Arg& value) const {
  Composite composite("Normal.log_prob", value.where);
  if (validates()) require_real("Normal.log_prob", "a value", value.tensor, value.where);
  const Tensor off = value - loc_;
  return -(off * off) / (2 * square(scale_)) - log(scale_) - kLog2Pi / 2;
}

Tensor Normal::entropy() const { return log(scale_) + (0.5 + kLog2Pi / 2); }

Tensor Normal::draw(const Shape& shape, Generator& g, const Where& line) const {
  const Tensor noise =
      unrecorded([&] { return moved_beside(loc_, randn(shape, loc_.dtype(), g, line), line); });
  return loc_ + noise * scale_;
}

Tensor Normal::kl_to(const Distribution& other, const Where& line) const {
  const Normal& q = of_family(*this, other, line);
  Composite composite("kl_divergence", line);
  const Tensor ratio = square(scale_ / q.scale_), off = square((loc_ - q.loc_) / q.scale_);
  return (ratio + off - 1 - log(ratio)) * 0.5;
}

Uniform::Uniform(const Param& low, const Param& high, bool validate_args)
    : Uniform(parameters("Uniform", {low, high}), low.where, validate_args) {}

Uniform::Uniform(std::vector<Tensor> of, const Where& line, bool validate_args)
    : Distribution("Uniform", of[0].raw_shape(), {}, validate_args), low_(of[0]), high_(of[1]) {
  if (!validate_args) return;
  const Tensor top = high_.detach();
  require("Uniform", "low must be below high", low_, line,
          [&](const Tensor& x) { return lt(x, top); });
}

Tensor Uniform::mean() const { return (low_ + high_) * 0.5; }
Tensor Uniform::variance() const { return square(high_ - low_) / 12; }

Tensor Uniform::log_prob(const Arg& value) const {
  Composite composite("Uniform.log_prob", value.where);
  if (validates()) {
    const Tensor from = low_.detach(), to = high_.detach();
    require("Uniform.log_prob", "a value must be in [low, high]", value.tensor, value.where,
            [&](const Tensor& x) { return logical_and(ge(x, from), le(x, to)); });
  }
  const Tensor inside = logical_and(le(low_, value), gt(high_, value));
  return log(inside.to(low_.dtype(), value.where)) - log(high_ - low_);
}

Tensor Uniform::entropy() const { return log(high_ - low_); }

Tensor Uniform::draw(const Shape& shape, Generator& g, const Where& line) const {
  const Tensor part =
      unrecorded([&] { return moved_beside(low_, rand(shape, low_.dtype(), g, line), line); });
  return low_ + part * (high_ - low_);
}

Tensor Uniform::kl_to(const Distribution& other, const Where& line) const {
  const Uniform& q = of_family(*this, other, line);
  Composite composite("kl_divergence", line);
  const Tensor ratio = log((q.high_ - q.low_) / (high_ - low_));
  return where(logical_or(gt(q.low_, low_), lt(q.high_, high_)), kInf, ratio);
}

Exponential::Exponential(const Param& rate, bool validate_args)
    : Exponential(parameters("Exponential", {rate}), rate.where, validate_args) {}

Exponential::Exponential(std::vector<Tensor> of, const Where& line, bool validate_args)
    : Distribution("Exponential", of[0].raw_shape(), {}, validate_args), rate_(of[0]) {
  if (validate_args) require_positive("Exponential", "rate", rate_, line);
}

Tensor Exponential::mean() const { return reciprocal(rate_); }
Tensor Exponential::variance() const { return square(reciprocal(rate_)); }

Tensor Exponential::log_prob(const Arg& value) const {
  Composite composite("Exponential.log_prob", value.where);
  if (validates()) {
    require("Exponential.log_prob", "a value must be >= 0", value.tensor, value.where,
            [](const Tensor& x) { return ge(x, 0); });
  }
  return log(rate_) - rate_ * value;
}

Tensor Exponential::entropy() const { return 1 - log(rate_); }

Tensor Exponential::draw(const Shape& shape, Generator& g, const Where& line) const {
  const Tensor unit = unrecorded([&] {
    return exponential_({zeros(shape, rate_.dtype(), line), line}, 1, g);
  });
  return moved_beside(rate_, unit, line) / rate_;
}

Tensor Exponential::kl_to(const Distribution& other, const Where& line) const {
  const Exponential& q = of_family(*this, other, line);
  Composite composite("kl_divergence", line);
  const Tensor ratio = q.rate_ / rate_;
  return ratio - 1 - log(ratio);
}

Laplace::Laplace(const Param& loc, const Param& scale, bool validate_args)
    : Laplace(parameters("Laplace", {loc, scale}), loc.where, validate_args) {}

Laplace::Laplace(std::vector<Tensor> of, const Where& line, bool validate_args)
    : Distribution("Laplace", of[0].raw_shape(), {}, validate_args), loc_(of[0]), scale_(of[1]) {
  if (!validate_args) return;
  require_real("Laplace", "loc", loc_, line);
  require_positive("Laplace", "scale", scale_, line);
}

Tensor Laplace::variance() const { return square(scale_) * 2; }

Tensor Laplace::log_prob(const Arg& value) const {
  Composite composite("Laplace.log_prob", value.where);
  if (validates()) require_real("Laplace.log_prob", "a value", value.tensor, value.where);
  return -log(2 * scale_) - abs(value - loc_) / scale_;
}

Tensor Laplace::entropy() const { return 1 + log(2 * scale_); }

// An exponential number on either side.
Tensor Laplace::draw(const Shape& shape, Generator& g, const Where& line) const {
  const Tensor unit = unrecorded([&] {
    const Tensor u = moved_beside(loc_, rand(shape, loc_.dtype(), g, line), line) * 2 - 1;
    const double eps = finfo(loc_.dtype()).eps;
    return -sign(u) * log1p(-clamp(abs(u), 0, 1 - eps));
  });
  return loc_ + unit * scale_;
}

Tensor Laplace::kl_to(const Distribution& other, const Where& line) const {
  const Laplace& q = of_family(*this, other, line);
  Composite composite("kl_divergence", line);
  const Tensor ratio = scale_ / q.scale_, off = abs(loc_ - q.loc_);
  return off / q.scale_ + ratio * exp(-off / scale_) - log(ratio) - 1;
}

}  // namespace wick::distributions
