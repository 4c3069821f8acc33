#include "trainer/distributions/discrete.h"

#include <cmath>

#include "runtime/kernels/elementwise/elementwise.h"
#include "trainer/distributions/check.h"
#include "trainer/tensor/device/vulkan_memory.h"
#include "trainer/tensor/draws.h"

namespace wick::distributions {
namespace {

// As PyTorch clamps probabilities before it takes their logarithm.
Tensor inside(const Tensor& probs) {
  const double eps = finfo(probs.dtype()).eps;
  return clamp(probs, eps, 1 - eps);
}

void require_weights(const char* op, const Tensor& t, const Where& line) {
  require(op, "probs must be >= 0", t, line, [](const Tensor& x) { return ge(x, 0); });
  if (t.rank() < 1) return;
  const Tensor total = sum(t.detach(), {-1}, true);
  require(op, "the probs of a row must have a sum above 0", total, line,
          [](const Tensor& x) { return logical_and(gt(x, 0), lt(x, kInf)); });
}

// +inf, and a row of nothing but -inf, would have NaN for probabilities.
void require_logits(const Tensor& t, const Where& line) {
  require("Categorical", "logits must not be NaN or inf", t, line,
          [](const Tensor& x) { return lt(x, kInf); });
  require("Categorical", "a row of logits must have one above -inf", t, line,
          [](const Tensor& x) { return gt(amax(x, {-1}, true), -kInf).expand(x.raw_shape()); });
}

void require_count(const char* op, const Arg& value) {
  require(op, "a value must be a whole number >= 0", value.tensor, value.where,
          [](const Tensor& t) {
            const Tensor x = t.to(DType::kF64);
            return logical_and(eq(x, floor(x)), ge(x, 0));
          });
}

// Element i's draw: below 10 from one uniform number by the distribution function, else by
// transformed rejection (Hoermann, 1993), whose attempt a reads block i with a in the counter's
// upper 16 bits. One in three attempts fails at worst.
double draw_poisson(double rate, int64_t i, const Draw& draw) {
  if (!(rate >= 0) || std::isinf(rate)) return kNan;
  auto words = [&](uint64_t attempt) {
    return philox(draw.seed, draw.stream, attempt << 48 | static_cast<uint64_t>(i));
  };
  if (rate < 10) {
    const auto w = words(0);
    const double u = unit_double(w[0], w[1]);
    double k = 0, p = std::exp(-rate), below = p;
    while (u >= below && k < 200) below += p *= rate / ++k;
    return k;
  }
  const double b = 0.931 + 2.53 * std::sqrt(rate), a = -0.059 + 0.02483 * b;
  const double inverse = 1.1239 + 1.1328 / (b - 3.4), most = 0.9277 - 3.6224 / (b - 2);
  for (uint64_t attempt = 0; attempt < 65536; ++attempt) {
    const auto w = words(attempt);
    const double u = unit_double(w[0], w[1]) - 0.5, v = 1 - unit_double(w[2], w[3]);
    const double us = 0.5 - std::fabs(u), k = std::floor((2 * a / us + b) * u + rate + 0.43);
    if (us >= 0.07 && v <= most) return k;
    if (!(k >= 0) || std::isinf(k) || (us < 0.013 && v > us)) continue;
    const double density = -rate + k * std::log(rate) - std::lgamma(k + 1);
    if (std::log(v) + std::log(inverse) - std::log(a / (us * us) + b) <= density) return k;
  }
  return std::floor(rate);
}

Shape rows_of(const Tensor& t, const Where& line) {
  if (t.rank() < 1 || dim_of(t, -1) < 1) {
    bad_shape("Categorical", "needs [..., classes] with at least one class, got " + text(t), line);
  }
  Shape s = t.raw_shape();
  s.set_rank(t.rank() - 1);
  return s;
}

}  // namespace

Bernoulli::Bernoulli(const Param& probs, bool validate_args)
    : Bernoulli(parameters("Bernoulli", {probs}), false, probs.where, validate_args) {}
Bernoulli Bernoulli::from_logits(const Param& logits, bool validate_args) {
  return {parameters("Bernoulli", {logits}), true, logits.where, validate_args};
}
Bernoulli::Bernoulli(std::vector<Tensor> of, bool is_logits, const Where& line, bool validate_args)
    : Distribution("Bernoulli", of[0].raw_shape(), {}, validate_args),
      given_(of[0]),
      is_logits_(is_logits) {
  if (!validate_args) return;
  if (is_logits) {
    require_real("Bernoulli", "logits", given_, line);
  } else {
    require("Bernoulli", "probs must be in [0, 1]", given_, line,
            [](const Tensor& x) { return logical_and(ge(x, 0), le(x, 1)); });
  }
}

Tensor Bernoulli::probs() const { return is_logits_ ? sigmoid(given_) : given_; }
Tensor Bernoulli::logits() const {
  if (is_logits_) return given_;
  const Tensor p = inside(given_);
  return log(p) - log1p(-p);
}
Tensor Bernoulli::variance() const {
  const Tensor p = probs();
  return p * (1 - p);
}

Tensor Bernoulli::log_prob(const Arg& value) const {
  Composite composite("Bernoulli.log_prob", value.where);
  if (validates()) {
    require("Bernoulli.log_prob", "a value must be 0 or 1", value.tensor, value.where,
            [](const Tensor& x) { return logical_or(eq(x, 0), eq(x, 1)); });
  }
  const Tensor x = logits();
  const std::vector<Tensor> both =
      broadcast_tensors({x, value.tensor.to(x.dtype(), value.where)}, value.where);
  return -binary_cross_entropy_with_logits(both[0], both[1], Tensor(), Reduction::kNone);
}

Tensor Bernoulli::entropy() const {
  return binary_cross_entropy_with_logits(logits(), probs(), Tensor(), Reduction::kNone);
}

Tensor Bernoulli::draw(const Shape& shape, Generator& g, const Where& line) const {
  return unrecorded([&] { return bernoulli({broadcast_to({probs(), line}, shape), line}, g); });
}

Tensor Bernoulli::kl_to(const Distribution& other, const Where& line) const {
  const Bernoulli& q = of_family(*this, other, line);
  Composite composite("kl_divergence", line);
  const Tensor a = probs(), b = q.probs(), x = logits(), y = q.logits();
  Tensor one = a * (softplus(-y) - softplus(-x));
  one = where(eq(a, 0), 0.0, where(eq(b, 0), kInf, one));
  Tensor zero = (1 - a) * (softplus(y) - softplus(x));
  zero = where(eq(a, 1), 0.0, where(eq(b, 1), kInf, zero));
  return one + zero;
}

Categorical::Categorical(const Param& probs, bool validate_args)
    : Categorical(parameters("Categorical", {probs}), false, probs.where, validate_args) {}
Categorical Categorical::from_logits(const Param& logits, bool validate_args) {
  return {parameters("Categorical", {logits}), true, logits.where, validate_args};
}
Categorical::Categorical(std::vector<Tensor> of, bool is_logits, const Where& line,
                         bool validate_args)
    : Distribution("Categorical", rows_of(of[0], line), {}, validate_args), is_logits_(is_logits) {
  const Tensor& t = of[0];
  if (validate_args && is_logits) require_logits(t, line);
  if (validate_args && !is_logits) require_weights("Categorical", t, line);
  given_ = is_logits ? t - logsumexp(t, {-1}, true) : t / sum(t, {-1}, true);
}

Tensor Categorical::probs() const { return is_logits_ ? softmax(given_, -1) : given_; }
Tensor Categorical::logits() const { return is_logits_ ? given_ : log(inside(given_)); }
Tensor Categorical::mean() const { return full(batch_shape(), kNan, given_.dtype()); }
Tensor Categorical::variance() const { return mean(); }

Tensor Categorical::log_prob(const Arg& value) const {
  Composite composite("Categorical.log_prob", value.where);
  if (!is_int(value.tensor.dtype(value.where)) && !is_float(value.tensor.dtype())) {
    throw_error("Categorical.log_prob",
                std::string("values are classes, got ") + dtype_name(value.tensor.dtype()),
                value.where, Code::kTypeMismatch);
  }
  const int64_t k = dim_of(given_, -1);
  if (validates()) {
    require("Categorical.log_prob",
            "a value must be a whole number in [0, " + std::to_string(k) + ")", value.tensor,
            value.where, [&](const Tensor& t) {
              const Tensor x = t.to(DType::kF64);
              return logical_and(eq(x, floor(x)), logical_and(ge(x, 0), lt(x, k)));
            });
  }
  const Tensor classes = value.tensor.to(DType::kI64, value.where).unsqueeze(-1, value.where);
  const std::vector<Tensor> both = broadcast_tensors({classes, logits()}, value.where);
  return gather(both[1], -1, both[0].narrow(-1, 0, 1)).squeeze(-1);
}

Tensor Categorical::entropy() const {
  const Tensor x = logits();
  return -sum(clamp(x, finfo(x.dtype()).min) * probs(), {-1});
}

Tensor Categorical::draw(const Shape& shape, Generator& g, const Where& line) const {
  return unrecorded([&] {
    const int64_t k = dim_of(given_, -1), rows = numel(batch_shape()), all = numel(shape);
    if (all == 0) return empty(shape, DType::kI64, line);
    const Tensor weights = to_host(probs().detach(), line).reshape({rows, k}, line);
    const Tensor drawn = multinomial({weights, line}, all / rows, true, g);  // [rows, samples]
    return moved_beside(given_, drawn.transpose(0, 1).reshape(shape, line), line);
  });
}

Tensor Categorical::kl_to(const Distribution& other, const Where& line) const {
  const Categorical& q = of_family(*this, other, line);
  Composite composite("kl_divergence", line);
  if (dim_of(given_, -1) != dim_of(q.given_, -1)) {
    bad_shape("kl_divergence",
              "one has " + std::to_string(dim_of(given_, -1)) + " classes, the other " +
                  std::to_string(dim_of(q.given_, -1)),
              line);
  }
  const Tensor a = probs(), b = q.probs();
  const Tensor terms = a * (logits() - q.logits());
  return sum(where(eq(a, 0), 0.0, where(eq(b, 0), kInf, terms)), {-1});
}

OneHotCategorical::OneHotCategorical(const Param& probs, bool validate_args)
    : OneHotCategorical(Categorical(probs, validate_args), validate_args) {}
OneHotCategorical OneHotCategorical::from_logits(const Param& logits, bool validate_args) {
  return {Categorical::from_logits(logits, validate_args), validate_args};
}
OneHotCategorical::OneHotCategorical(const Categorical& classes, bool validate_args)
    : Distribution("OneHotCategorical", classes.batch_shape(), {dim_of(classes.probs(), -1)},
                   validate_args),
      classes_(classes) {}

Tensor OneHotCategorical::variance() const {
  const Tensor p = probs();
  return p * (1 - p);
}

Tensor OneHotCategorical::log_prob(const Arg& value) const {
  Composite composite("OneHotCategorical.log_prob", value.where);
  need_event("OneHotCategorical.log_prob", value);
  if (validates()) {
    require("OneHotCategorical.log_prob", "a value must be 1 at one class and else 0", value.tensor,
            value.where, [](const Tensor& t) {
              const Tensor x = t.to(DType::kF64), bits = logical_or(eq(x, 0), eq(x, 1));
              return logical_and(bits, eq(sum(x, {-1}, true), 1));
            });
  }
  return classes_.log_prob({argmax(value, -1), value.where});
}

Tensor OneHotCategorical::draw(const Shape& shape, Generator& g, const Where& line) const {
  Shape rows = shape;
  rows.set_rank(shape.rank() - 1);
  const Tensor classes = draw_of(classes_, rows, g, line);
  return unrecorded([&] {
    const Tensor p = probs();
    return one_hot({classes, line}, dim_of(p, -1)).to(p.dtype(), line);
  });
}

Tensor OneHotCategorical::kl_to(const Distribution& other, const Where& line) const {
  return kl_divergence(classes_, of_family(*this, other, line).classes_, line);
}

Geometric::Geometric(const Param& probs, bool validate_args)
    : Geometric(parameters("Geometric", {probs}), false, probs.where, validate_args) {}
Geometric Geometric::from_logits(const Param& logits, bool validate_args) {
  return {parameters("Geometric", {logits}), true, logits.where, validate_args};
}
Geometric::Geometric(std::vector<Tensor> of, bool is_logits, const Where& line, bool validate_args)
    : Distribution("Geometric", of[0].raw_shape(), {}, validate_args),
      given_(of[0]),
      is_logits_(is_logits) {
  if (!validate_args) return;
  if (is_logits) {
    require_real("Geometric", "logits", given_, line);
  } else {
    require("Geometric", "probs must be in (0, 1]", given_, line,
            [](const Tensor& x) { return logical_and(gt(x, 0), le(x, 1)); });
  }
}

Tensor Geometric::probs() const { return is_logits_ ? sigmoid(given_) : given_; }
Tensor Geometric::logits() const {
  if (is_logits_) return given_;
  const Tensor p = inside(given_);
  return log(p) - log1p(-p);
}
Tensor Geometric::mean() const { return reciprocal(probs()) - 1; }
Tensor Geometric::variance() const {
  const Tensor p = probs();
  return (reciprocal(p) - 1) / p;
}

Tensor Geometric::log_prob(const Arg& value) const {
  Composite composite("Geometric.log_prob", value.where);
  if (validates()) require_count("Geometric.log_prob", value);
  const Tensor p = probs(), k = value.tensor.to(p.dtype(), value.where);
  // Without a failure nothing of log 0 counts, nor does its slope.
  const Tensor sure = logical_and(eq(p, 1), eq(k, 0));
  return k * log1p(-where(sure, 0.0, p)) + log(p);
}

Tensor Geometric::entropy() const {
  const Tensor p = probs();
  return binary_cross_entropy_with_logits(logits(), p, Tensor(), Reduction::kNone) / p;
}

Tensor Geometric::draw(const Shape& shape, Generator& g, const Where& line) const {
  return unrecorded([&] {
    const Tensor p = probs(), u = moved_beside(p, rand(shape, p.dtype(), g, line), line);
    return floor(log(clamp(u, finfo(p.dtype()).tiny)) / log1p(-p));
  });
}

Tensor Geometric::kl_to(const Distribution& other, const Where& line) const {
  const Geometric& q = of_family(*this, other, line);
  Composite composite("kl_divergence", line);
  return -entropy() - log1p(-q.probs()) / probs() - q.logits();
}

Poisson::Poisson(const Param& rate, bool validate_args)
    : Poisson(parameters("Poisson", {rate}), rate.where, validate_args) {}
Poisson::Poisson(std::vector<Tensor> of, const Where& line, bool validate_args)
    : Distribution("Poisson", of[0].raw_shape(), {}, validate_args), rate_(of[0]) {
  if (!validate_args) return;
  require("Poisson", "rate must be >= 0 and finite", rate_, line,
          [](const Tensor& x) { return logical_and(ge(x, 0), lt(x, kInf)); });
}

Tensor Poisson::log_prob(const Arg& value) const {
  Composite composite("Poisson.log_prob", value.where);
  if (validates()) require_count("Poisson.log_prob", value);
  const Tensor k = value.tensor.to(rate_.dtype(), value.where);
  return xlogy(k, rate_) - rate_ - lgamma(k + 1);
}

Tensor Poisson::entropy() const {
  throw_error("Poisson", "has no entropy(): there is no formula", Where::current(),
              Code::kUnsupported);
}

Tensor Poisson::draw(const Shape& shape, Generator& g, const Where& line) const {
  return unrecorded([&] {
    const Tensor wide = broadcast_to({to_host(rate_.detach(), line), line}, shape);
    const Tensor of = wide.to(DType::kF64, line).contiguous(line);
    const Tensor drawn = empty(shape, DType::kF64, line);
    const double* rate = of.data<double>(line);
    auto* y = drawn.mutable_data<double>(line);
    const Draw draw = next_draw(g);
    constexpr int64_t kCost = 100;
    parallel_items(thread_pool(), numel(shape), kCost, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) y[i] = draw_poisson(rate[i], i, draw);
    });
    return moved_beside(rate_, drawn.to(rate_.dtype(), line), line);
  });
}

Tensor Poisson::kl_to(const Distribution& other, const Where& line) const {
  const Poisson& q = of_family(*this, other, line);
  Composite composite("kl_divergence", line);
  return xlogy(rate_, rate_) - xlogy(rate_, q.rate_) - (rate_ - q.rate_);  // 0 log 0 is 0
}

}  // namespace wick::distributions
