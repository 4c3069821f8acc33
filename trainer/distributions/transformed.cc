#include "trainer/distributions/transformed.h"

#include <cmath>
#include <typeinfo>

#include "trainer/distributions/check.h"
#include "trainer/distributions/continuous.h"

namespace wick::distributions {
namespace {

constexpr double kLog2 = 0.69314718055994530942;

[[noreturn]] void no_formula(const char* what) {
  throw_error("TransformedDistribution", std::string("has no ") + what + ": there is no formula",
              Where::current(), Code::kUnsupported);
}

}  // namespace

Tensor ExpTransform::operator()(const Arg& x) const { return exp(x); }
Tensor ExpTransform::inv(const Arg& y) const { return log(y); }
Tensor ExpTransform::log_abs_det_jacobian(const Arg& x, const Arg& /*y*/) const { return x.tensor; }
void ExpTransform::check_value(const char* op, const Arg& y) const {
  require_positive(op, "a value", y.tensor, y.where);
}

Tensor SigmoidTransform::operator()(const Arg& x) const {
  const auto limits = finfo(x.tensor.dtype(x.where));
  return clamp(sigmoid(x), limits.tiny, 1 - limits.eps);
}
Tensor SigmoidTransform::inv(const Arg& y) const {
  const auto limits = finfo(y.tensor.dtype(y.where));
  const Tensor p = clamp(y, limits.tiny, 1 - limits.eps);
  return log(p) - log1p(-p);
}
Tensor SigmoidTransform::log_abs_det_jacobian(const Arg& x, const Arg& /*y*/) const {
  return -softplus(-x.tensor) - softplus(x);
}
void SigmoidTransform::check_value(const char* op, const Arg& y) const {
  require(op, "a value must be in [0, 1]", y.tensor, y.where,
          [](const Tensor& t) { return logical_and(ge(t, 0), le(t, 1)); });
}

Tensor TanhTransform::operator()(const Arg& x) const { return tanh(x); }
Tensor TanhTransform::inv(const Arg& y) const { return atanh(y); }
// log(1 - tanh(x)^2), without the difference.
Tensor TanhTransform::log_abs_det_jacobian(const Arg& x, const Arg& /*y*/) const {
  return 2 * (kLog2 - x.tensor - softplus(-2 * x.tensor));
}
void TanhTransform::check_value(const char* op, const Arg& y) const {
  require(op, "a value must be in [-1, 1]", y.tensor, y.where,
          [](const Tensor& t) { return logical_and(ge(t, -1), le(t, 1)); });
}

AffineTransform::AffineTransform(const Param& loc, const Param& scale)
    : numbers_(!loc.tensor.defined() && !scale.tensor.defined()), where_(loc.where) {
  if (numbers_) {
    loc_ = full({}, loc.number, DType::kF64), scale_ = full({}, scale.number, DType::kF64);
  } else {
    const std::vector<Tensor> of = parameters("AffineTransform", {loc, scale});
    loc_ = of[0], scale_ = of[1];
  }
  require_real("AffineTransform", "loc", loc_, where_);
  require("AffineTransform", "scale must not be 0 or NaN", scale_, where_,
          [](const Tensor& x) { return logical_or(gt(x, 0), lt(x, 0)); });
}
Tensor AffineTransform::beside(const Tensor& parameter, const Arg& x) const {
  return numbers_ ? parameter.to(x.tensor.dtype(x.where), x.where) : parameter;
}
Tensor AffineTransform::operator()(const Arg& x) const {
  return beside(loc_, x) + beside(scale_, x) * x;
}
Tensor AffineTransform::inv(const Arg& y) const {
  return (y - beside(loc_, y)) / beside(scale_, y);
}
Tensor AffineTransform::log_abs_det_jacobian(const Arg& x, const Arg& /*y*/) const {
  return log(abs(beside(scale_, x))).expand(x.tensor.raw_shape(), x.where);
}
void AffineTransform::check_value(const char* op, const Arg& y) const {
  require_real(op, "a value", y.tensor, y.where);
}
bool AffineTransform::equals(const Transform& o) const {
  const auto& other = static_cast<const AffineTransform&>(o);
  const auto same = [](const Tensor& a, const Tensor& b) {
    return a.raw_shape() == b.raw_shape() && a.dtype() == b.dtype() && equal(a, b);
  };
  return same(loc_, other.loc_) && same(scale_, other.scale_);
}
void AffineTransform::check_shape(const Shape& shape) const {
  const Shape& own = scale_.raw_shape();
  bool fits = own.rank() <= shape.rank();
  for (int i = 1; fits && i <= own.rank(); ++i) {
    const int64_t n = own[own.rank() - i];
    fits = n == 1 || n == shape[shape.rank() - i];
  }
  if (fits) return;
  bad_shape("AffineTransform",
            std::string("loc and scale ") + to_text(own).text + " do not broadcast to the base's " +
                to_text(shape).text + ": expand the base's parameters",
            where_);
}

TransformedDistribution::TransformedDistribution(std::shared_ptr<const Distribution> base,
                                                 Transforms transforms, Where where)
    : Distribution("TransformedDistribution", base->batch_shape(), base->event_shape(), true),
      base_(std::move(base)),
      transforms_(std::move(transforms)) {
  Shape whole = batch_shape();
  for (int64_t d : event_shape()) whole.push_back(d);
  for (const auto& t : transforms_) {
    if (t == nullptr) throw_error("TransformedDistribution", "a transform is null", where);
    t->check_shape(whole);
  }
}

Tensor TransformedDistribution::mean() const { no_formula("mean()"); }
Tensor TransformedDistribution::variance() const { no_formula("variance()"); }
Tensor TransformedDistribution::entropy() const { no_formula("entropy()"); }

Tensor TransformedDistribution::log_prob(const Arg& value) const {
  Composite composite("TransformedDistribution.log_prob", value.where);
  need_event("TransformedDistribution.log_prob", value);
  if (!transforms_.empty())
    transforms_.back()->check_value("TransformedDistribution.log_prob", value);
  Tensor y = value.tensor, slope;
  for (auto it = transforms_.rbegin(); it != transforms_.rend(); ++it) {
    const Tensor x = (*it)->inv(y);
    const Tensor s = sum_of_last((*it)->log_abs_det_jacobian(x, y), event_shape().rank());
    slope = slope.defined() ? slope + s : s;
    y = x;
  }
  const Tensor of_base = base_->log_prob({y, value.where});
  return slope.defined() ? of_base - slope : of_base;
}

Tensor TransformedDistribution::draw(const Shape& shape, Generator& g, const Where& line) const {
  Tensor x = draw_of(*base_, shape, g, line);
  for (const auto& t : transforms_) x = (*t)({x, line});
  return x;
}

Tensor TransformedDistribution::kl_to(const Distribution& other, const Where& line) const {
  const TransformedDistribution& q = of_family(*this, other, line);
  bool same = transforms_.size() == q.transforms_.size();
  for (size_t i = 0; same && i < transforms_.size(); ++i) {
    const Transform &a = *transforms_[i], &b = *q.transforms_[i];
    same = &a == &b || (typeid(a) == typeid(b) && a.equals(b));
  }
  if (!same) {
    throw_error("kl_divergence", "the transforms of the two distributions are not the same", line,
                Code::kUnsupported);
  }
  return kl_divergence(*base_, *q.base_, line);
}

LogNormal::LogNormal(const Param& loc, const Param& scale, bool validate_args)
    : LogNormal(parameters("LogNormal", {loc, scale}), loc.where, validate_args) {}

LogNormal::LogNormal(std::vector<Tensor> of, const Where& line, bool validate_args)
    : Distribution("LogNormal", of[0].raw_shape(), {}, validate_args), loc_(of[0]), scale_(of[1]) {
  if (!validate_args) return;
  require_real("LogNormal", "loc", loc_, line);
  require_positive("LogNormal", "scale", scale_, line);
}

Tensor LogNormal::mean() const { return exp(loc_ + square(scale_) * 0.5); }
Tensor LogNormal::variance() const {
  return expm1(square(scale_)) * exp(2 * loc_ + square(scale_));
}

Tensor LogNormal::log_prob(const Arg& value) const {
  Composite composite("LogNormal.log_prob", value.where);
  if (validates()) require_positive("LogNormal.log_prob", "a value", value.tensor, value.where);
  const Tensor x = log(value), off = x - loc_;
  return -(off * off) / (2 * square(scale_)) - log(scale_) - kLog2Pi / 2 - x;
}

Tensor LogNormal::entropy() const { return log(scale_) + (0.5 + kLog2Pi / 2) + loc_; }

Tensor LogNormal::draw(const Shape& shape, Generator& g, const Where& line) const {
  return exp(draw_of(Normal(loc_, scale_, false), shape, g, line));
}

Tensor LogNormal::kl_to(const Distribution& other, const Where& line) const {
  const LogNormal& q = of_family(*this, other, line);
  return kl_divergence(Normal(loc_, scale_, false), Normal(q.loc_, q.scale_, false), line);
}

}  // namespace wick::distributions
