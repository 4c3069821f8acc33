#include "trainer/distributions/gamma.h"

#include "trainer/autograd/function.h"
#include "trainer/distributions/check.h"
#include "trainer/distributions/gamma_draw.h"

namespace wick::distributions {
namespace {

// Returns log z of Gamma(concentration, 1) in `shape`: float64, on the host.
Tensor log_gamma_draws(const Tensor& concentration, const Shape& shape, Generator& g,
                       const Where& line) {
  const Tensor wide = broadcast_to({concentration, line}, shape);
  return log_standard_gamma({wide.cpu(line).to(DType::kF64, line), line}, g);
}

// Returns x in the dtype and on the device of `like`, clamped; the gradient passes through.
Tensor clamped_draws(const Tensor& x, const Tensor& like, double low, OptScalar high,
                     const Where& line) {
  const Tensor y = x.to(like.dtype(), line).to(like.device(line), false, line);
  const Tensor kept = unrecorded([&] { return clamp(y.detach(line), low, high); });
  return straight_through({kept, line}, {y, line});
}

// log Gamma(sum of c) - sum of log Gamma(c), over the last dim.
Tensor log_normalizer(const Tensor& c) { return lgamma(sum(c, {-1})) - sum(lgamma(c), {-1}); }

}  // namespace

Gamma::Gamma(const Param& concentration, const Param& rate, bool validate_args)
    : Gamma(parameters("Gamma", {concentration, rate}), concentration.where, validate_args) {}

Gamma::Gamma(std::vector<Tensor> of, const Where& line, bool validate_args)
    : Distribution("Gamma", of[0].raw_shape(), {}, validate_args),
      concentration_(of[0]),
      rate_(of[1]) {
  if (!validate_args) return;
  require_positive("Gamma", "concentration", concentration_, line);
  require_positive("Gamma", "rate", rate_, line);
}

Tensor Gamma::mean() const { return concentration_ / rate_; }
Tensor Gamma::variance() const { return concentration_ / square(rate_); }

Tensor Gamma::log_prob(const Arg& value) const {
  Composite composite("Gamma.log_prob", value.where);
  if (validates()) {
    require("Gamma.log_prob", "a value must be >= 0", value.tensor, value.where,
            [](const Tensor& x) { return ge(x, 0); });
  }
  return xlogy(concentration_, rate_) + xlogy(concentration_ - 1, value) - rate_ * value -
         lgamma(concentration_);
}

Tensor Gamma::entropy() const {
  return concentration_ - log(rate_) + lgamma(concentration_) +
         (1 - concentration_) * digamma(concentration_);
}

Tensor Gamma::draw(const Shape& shape, Generator& g, const Where& line) const {
  const Tensor unit = exp(log_gamma_draws(concentration_, shape, g, line));
  const Tensor rate = rate_.cpu(line).to(DType::kF64, line);
  const double tiny = finfo(rate_.dtype()).tiny;
  return clamped_draws(unit / rate, rate_, tiny, {}, line);
}

Tensor Gamma::kl_to(const Distribution& other, const Where& line) const {
  const Gamma& q = of_family(*this, other, line);
  Composite composite("kl_divergence", line);
  const Tensor &c = concentration_, &d = q.concentration_;
  return d * log(rate_ / q.rate_) + (lgamma(d) - lgamma(c)) + (c - d) * digamma(c) +
         (q.rate_ - rate_) * (c / rate_);
}

Dirichlet::Dirichlet(const Param& concentration, bool validate_args)
    : Dirichlet(parameters("Dirichlet", {concentration}), concentration.where, validate_args) {}

static Shape without_last(const char* op, const Tensor& t, const Where& line) {
  if (t.rank() < 1) bad_shape(op, "concentration must be [..., k], got a single number", line);
  Shape s = t.raw_shape();
  s.set_rank(t.rank() - 1);
  return s;
}

// The order in which a constructor's arguments are computed is not known: each one checks.
static Shape last_of(const char* op, const Tensor& t, const Where& line) {
  without_last(op, t, line);
  return {dim_of(t, -1)};
}

Dirichlet::Dirichlet(std::vector<Tensor> of, const Where& line, bool validate_args)
    : Distribution("Dirichlet", without_last("Dirichlet", of[0], line),
                   last_of("Dirichlet", of[0], line), validate_args),
      concentration_(of[0]) {
  if (validate_args) require_positive("Dirichlet", "concentration", concentration_, line);
}

Tensor Dirichlet::mean() const { return concentration_ / sum(concentration_, {-1}, true); }
Tensor Dirichlet::variance() const {
  const Tensor total = sum(concentration_, {-1}, true);
  return concentration_ * (total - concentration_) / (square(total) * (total + 1));
}

Tensor Dirichlet::log_prob(const Arg& value) const {
  Composite composite("Dirichlet.log_prob", value.where);
  need_event("Dirichlet.log_prob", value);
  if (validates()) {
    require("Dirichlet.log_prob", "a value's parts must be >= 0", value.tensor, value.where,
            [](const Tensor& x) { return ge(x, 0); });
    const Tensor total = sum({value.tensor.detach(value.where), value.where}, {-1});
    // PyTorch's bound; the parts of 16-bit floats are rounded more coarsely.
    const double eps = finfo(concentration_.dtype()).eps;
    const double off = eps < 1e-6 ? 1e-6 : eps * static_cast<double>(event_shape()[0]);
    require("Dirichlet.log_prob", "a value's parts must sum to 1", total, value.where,
            [off](const Tensor& x) { return lt(abs(x - 1), off); });
  }
  return sum(log(value) * (concentration_ - 1), {-1}) + log_normalizer(concentration_);
}

Tensor Dirichlet::entropy() const {
  const Tensor &c = concentration_, total = sum(c, {-1});
  const auto k = static_cast<double>(dim_of(c, -1));
  return -log_normalizer(c) - (k - total) * digamma(total) - sum((c - 1) * digamma(c), {-1});
}

Tensor Dirichlet::draw(const Shape& shape, Generator& g, const Where& line) const {
  const Tensor log_z = log_gamma_draws(concentration_, shape, g, line);
  const FloatInfo of = finfo(concentration_.dtype());
  return clamped_draws(softmax(log_z, -1), concentration_, of.tiny, 1 - of.eps, line);
}

Tensor Dirichlet::kl_to(const Distribution& other, const Where& line) const {
  const Dirichlet& q = of_family(*this, other, line);
  Composite composite("kl_divergence", line);
  const Tensor &c = concentration_, &d = q.concentration_;
  if (dim_of(c, -1) != dim_of(d, -1)) {
    bad_shape("kl_divergence",
              "one is of " + std::to_string(dim_of(c, -1)) + " parts, the other of " +
                  std::to_string(dim_of(d, -1)),
              line);
  }
  const Tensor slope = digamma(c) - digamma(sum(c, {-1}, true));
  return log_normalizer(c) - log_normalizer(d) + sum((c - d) * slope, {-1});
}

Beta::Beta(const Param& concentration1, const Param& concentration0, bool validate_args)
    : Beta(parameters("Beta", {concentration1, concentration0}), concentration1.where,
           validate_args) {}

Beta::Beta(std::vector<Tensor> of, const Where& line, bool validate_args)
    : Distribution("Beta", of[0].raw_shape(), {}, validate_args), one_(of[0]), zero_(of[1]) {
  if (!validate_args) return;
  require_positive("Beta", "concentration1", one_, line);
  require_positive("Beta", "concentration0", zero_, line);
}

Dirichlet Beta::both() const { return Dirichlet(stack({one_, zero_}, -1), false); }

Tensor Beta::mean() const { return one_ / (one_ + zero_); }
Tensor Beta::variance() const {
  const Tensor total = one_ + zero_;
  return one_ * zero_ / (square(total) * (total + 1));
}

Tensor Beta::log_prob(const Arg& value) const {
  Composite composite("Beta.log_prob", value.where);
  if (validates()) {
    require("Beta.log_prob", "a value must be in [0, 1]", value.tensor, value.where,
            [](const Tensor& x) { return logical_and(ge(x, 0), le(x, 1)); });
  }
  return both().log_prob({stack({value.tensor, 1 - value}, -1, value.where), value.where});
}

Tensor Beta::entropy() const { return both().entropy(); }

Tensor Beta::draw(const Shape& shape, Generator& g, const Where& line) const {
  Shape pairs = shape;
  pairs.push_back(2);
  return draw_of(both(), pairs, g, line).select(-1, 0, line);
}

Tensor Beta::kl_to(const Distribution& other, const Where& line) const {
  return kl_divergence(both(), of_family(*this, other, line).both(), line);
}

}  // namespace wick::distributions
