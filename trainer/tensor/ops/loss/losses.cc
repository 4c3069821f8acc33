#include "trainer/tensor/ops/loss/losses.h"

#include <algorithm>
#include <cmath>

#include "trainer/explain/warn.h"
#include "trainer/tensor/autocast.h"
#include "trainer/tensor/compose.h"
#include "trainer/tensor/recorder.h"

namespace wick {
namespace {

// Checks input and target of a distance: floats, with a warning if their shapes differ.
void check_distance(const char* loss, const Arg& x, const Arg& target) {
  if (!is_float(x.tensor.dtype()) && !is_float(target.tensor.dtype())) {
    throw_error(loss,
                std::string("needs a floating-point input, got ") + dtype_name(x.tensor.dtype()) +
                    ": convert with to()",
                x.where, Code::kTypeMismatch);
  }
  warn_broadcast(loss, x.tensor, target.tensor, x.where);
}

Tensor zero_of(const Tensor& t) { return full({}, 0, t.dtype()); }

// max(x, 0) with a gradient of 0 at 0.
Tensor positive(const Tensor& x, const At& at) { return relu(at(x)); }

}  // namespace

Tensor mse_loss(const Arg& x, const Arg& target, Reduction reduction) {
  const At at(x);
  const AutocastWide wide;
  check_distance("mse_loss", x, target);
  return reduced(square(at(sub(x, target))), reduction, at);
}
Tensor l1_loss(const Arg& x, const Arg& target, Reduction reduction) {
  const At at(x);
  const AutocastWide wide;
  check_distance("l1_loss", x, target);
  return reduced(abs(at(sub(x, target))), reduction, at);
}

Tensor smooth_l1_loss(const Arg& x, const Arg& target, Reduction reduction, double beta) {
  const At at(x);
  const AutocastWide wide;
  if (!(beta >= 0)) {
    throw_error("smooth_l1_loss", "beta must be >= 0, got " + std::to_string(beta), x.where);
  }
  if (beta == 0) return l1_loss(x, target, reduction);
  check_distance("smooth_l1_loss", x, target);
  const Tensor difference = sub(x, target);
  Tensor d = abs(at(difference));
  // The square is of the difference itself: that of its magnitude has no second derivative at 0.
  Tensor near = at(square(at(difference))) * (0.5 / beta), far = at(d) - 0.5 * beta;
  return reduced(where(at(lt(at(d), beta)), at(near), at(far)), reduction, at);
}
Tensor huber_loss(const Arg& x, const Arg& target, Reduction reduction, double delta) {
  const At at(x);
  const AutocastWide wide;
  if (!(delta > 0)) {
    throw_error("huber_loss", "delta must be > 0, got " + std::to_string(delta), x.where);
  }
  check_distance("huber_loss", x, target);
  const Tensor difference = sub(x, target);
  Tensor d = abs(at(difference));
  Tensor near = at(square(at(difference))) * 0.5, far = at(at(d) - 0.5 * delta) * delta;
  return reduced(where(at(lt(at(d), delta)), at(near), at(far)), reduction, at);
}

// log x, clamped to >= -100. Within 1e-12 of 0 and 1 the slope is PyTorch's, (1 - x) / max(x (1 -
// x), 1e-12): a confident wrong probability still has a finite gradient away from it, a confident
// right one has none.
static Tensor clamped_log(const Tensor& x, const At& at) {
  constexpr double kSmallest = 1e-12F;  // a float in PyTorch too
  Tensor fixed = x.detach(), rest = 1 - at(fixed), one = full({}, 1, x.dtype());
  Tensor edge = logical_or(at(lt(at(fixed), kSmallest)), at(lt(at(rest), kSmallest)));
  Tensor flat = clamp(at(log(at(fixed))), -100, __builtin_inf());
  Tensor slope = at(at(x) - at(fixed)) * at(at(rest) * (1 / kSmallest));
  Tensor safe = where(at(edge), at(one), at(x));
  return where(at(edge), at(at(flat) + at(slope)), at(log(at(safe))));
}

static void need_probabilities(const Arg& x) {
  if (active_tracer() != nullptr) return;  // the graph must work for any values
  const auto v = x.tensor.detach().cpu(x.where).contiguous().to(DType::kF64);
  const double* p = v.raw().as<double>();
  for (int64_t i = 0, n = v.layout().numel(); i < n; ++i) {
    if (!(p[i] < 0 || p[i] > 1)) continue;
    throw_error("binary_cross_entropy",
                "the input must be probabilities in [0, 1], element " + std::to_string(i) + " is " +
                    std::to_string(p[i]) +
                    ": apply sigmoid, or use binary_cross_entropy_with_logits",
                x.where);
  }
  if (Recorder* r = modes().recorder) [[unlikely]] {
    r->on_check(
        v,
        [](const TensorView& t) {
          const auto* p = t.as<double>();
          return std::none_of(p, p + t.numel(), [](double q) { return q < 0 || q > 1; });
        },
        "binary_cross_entropy", x.where);
  }
}

static void need_same_shape(const char* loss, const Arg& x, const Arg& target) {
  if (x.tensor.raw_shape() == target.tensor.raw_shape()) return;
  bad_shape(
      loss,
      "input and target must have one shape, got " + text(x.tensor) + " and " + text(target.tensor),
      x.where);
}

static Tensor weighted(const Tensor& loss, const Tensor& weight, Reduction reduction,
                       const At& at) {
  return reduced(weight.defined() ? mul(at(loss), at(weight)) : loss, reduction, at);
}

Tensor binary_cross_entropy(const Arg& x, const Arg& target, const Tensor& weight,
                            Reduction reduction) {
  const At at(x);
  const AutocastWide wide;
  need_same_shape("binary_cross_entropy", x, target);
  check_distance("binary_cross_entropy", x, target);
  need_probabilities(x);
  Tensor no = 1 - x, yes_part = mul(target, at(clamped_log(x.tensor, at)));
  Tensor no_part = mul(at(1 - target), at(clamped_log(no, at)));
  return weighted(neg(at(at(yes_part) + at(no_part))), weight, reduction, at);
}

Tensor binary_cross_entropy_with_logits(const Arg& x, const Arg& target, const Tensor& weight,
                                        Reduction reduction, const Tensor& pos_weight) {
  const At at(x);
  const AutocastWide wide;
  need_same_shape("binary_cross_entropy_with_logits", x, target);
  check_distance("binary_cross_entropy_with_logits", x, target);
  // (1 - t) x + (1 + (w - 1) t) softplus(-x)
  Tensor tail = softplus(at(neg(x)));
  if (pos_weight.defined()) {
    Tensor w = 1 + at(mul(at(at(pos_weight) - 1.0), target));
    tail = mul(at(w), at(tail));
  }
  Tensor loss = at(mul(at(1 - target), x)) + at(tail);
  return weighted(loss, weight, reduction, at);
}

Tensor soft_margin_loss(const Arg& x, const Arg& target, Reduction reduction) {
  const At at(x);
  const AutocastWide wide;
  check_distance("soft_margin_loss", x, target);
  return reduced(softplus(at(neg(at(mul(target, x))))), reduction, at);
}

Tensor kl_div(const Arg& x, const Arg& target, KlReduction reduction, bool log_target) {
  const At at(x);
  const AutocastWide wide;
  check_distance("kl_div", x, target);
  Tensor loss;
  if (log_target) {
    loss = mul(at(exp(target)), at(sub(target, x)));
  } else {  // t log t is defined as 0 at 0
    Tensor one = full({}, 1, target.tensor.dtype()), zero = zero_of(target.tensor);
    Tensor some = gt(target, 0);
    Tensor log_t = log(at(where(at(some), target, at(one))));
    Tensor own = where(at(some), at(mul(target, at(log_t))), at(zero));
    loss = at(own) - at(mul(target, x));
  }
  switch (reduction) {
    case KlReduction::kNone: return loss;
    case KlReduction::kMean: return mean(at(loss));
    case KlReduction::kSum: return sum(at(loss));
    case KlReduction::kBatchMean:
      if (x.tensor.rank() == 0) return sum(at(loss));
      return at(sum(at(loss))) * (1.0 / static_cast<double>(dim_of(x.tensor, 0)));
  }
  return loss;
}

Tensor poisson_nll_loss(const Arg& x, const Arg& target, bool log_input, bool full_form, double eps,
                        Reduction reduction) {
  const At at(x);
  const AutocastWide wide;
  check_distance("poisson_nll_loss", x, target);
  Tensor loss =
      log_input ? at(exp(x)) - at(mul(target, x)) : sub(x, at(mul(target, at(log(at(x + eps))))));
  if (full_form) {  // Stirling's approximation of log(target!), where target > 1
    Tensor more = gt(target, 1.0), one = full({}, 1, target.tensor.dtype());
    Tensor t = where(at(more), target, at(one));
    Tensor stirling =
        at(at(at(t) * at(log(at(t)))) - at(t)) + at(at(log(at(at(t) * (2 * M_PI)))) * 0.5);
    loss = at(loss) + at(where(at(more), at(stirling), at(zero_of(stirling))));
  }
  return reduced(loss, reduction, at);
}

Tensor gaussian_nll_loss(const Arg& x, const Arg& target, const Arg& variance, bool full_form,
                         double eps, Reduction reduction) {
  const At at(x);
  const AutocastWide wide;
  check_distance("gaussian_nll_loss", x, target);
  Tensor var = variance.tensor;
  // One variance for the last dim, without that dim.
  if (var.rank() == x.tensor.rank() - 1 && var.rank() > 0) var = var.unsqueeze(-1, x.where);
  // The variance is clamped to >= eps, without a gradient through the bound.
  Tensor low = lt(at(var), eps);
  Tensor held = at(var) + at(where(at(low), at(eps - at(var.detach())), at(zero_of(var))));
  Tensor loss = at(at(log(at(held))) + at(div(at(square(at(sub(x, target)))), at(held)))) * 0.5;
  if (full_form) loss = at(loss) + 0.5 * std::log(2 * M_PI);
  return reduced(loss, reduction, at);
}

Tensor hinge_embedding_loss(const Arg& x, const Arg& target, double margin, Reduction reduction) {
  const At at(x);
  const AutocastWide wide;
  check_distance("hinge_embedding_loss", x, target);
  Tensor zero = zero_of(x.tensor);
  Tensor apart = where(at(eq(target, 1)), at(zero), at(positive(margin - x, at)));
  Tensor close = where(at(eq(target, -1)), at(zero), x);
  return reduced(at(apart) + at(close), reduction, at);
}

Tensor margin_ranking_loss(const Arg& x1, const Arg& x2, const Arg& target, double margin,
                           Reduction reduction) {
  const At at(x1);
  const AutocastWide wide;
  warn_broadcast("margin_ranking_loss", x1.tensor, target.tensor, x1.where);
  Tensor d = at(neg(at(mul(target, at(sub(x1, x2)))))) + margin;
  return reduced(positive(d, at), reduction, at);
}

Tensor cosine_embedding_loss(const Arg& x1, const Arg& x2, const Arg& target, double margin,
                             Reduction reduction) {
  const At at(x1);
  const AutocastWide wide;
  const int rank = x1.tensor.rank();
  if (rank < 1 || rank > 2 || x2.tensor.rank() != rank || target.tensor.rank() != rank - 1) {
    bad_shape("cosine_embedding_loss",
              "needs [N, D], [N, D] and target [N] (or [D], [D], []), got " + text(x1.tensor) +
                  ", " + text(x2.tensor) + " and " + text(target.tensor),
              x1.where);
  }
  // As in PyTorch a small number is added to the squares.
  constexpr double kEps = 1e-12;
  Tensor product = sum(at(mul(x1, x2)), {-1});
  Tensor norms =
      at(at(sum(at(mul(x1, x1)), {-1})) + kEps) * at(at(sum(at(mul(x2, x2)), {-1})) + kEps);
  Tensor c = at(product) / at(sqrt(at(norms))), zero = zero_of(c);
  Tensor same = where(at(eq(target, 1)), at(1 - at(c)), at(zero));
  Tensor other = where(at(eq(target, -1)), at(positive(at(c) - margin, at)), at(zero));
  return reduced(at(same) + at(other), reduction, at);
}

Tensor triplet_margin_loss(const Arg& anchor, const Arg& near, const Arg& far, double margin,
                           double p, double eps, bool swap, Reduction reduction) {
  const At at(anchor);
  const AutocastWide wide;
  Tensor to_near = pairwise_distance(anchor, near, p, eps);
  Tensor to_far = pairwise_distance(anchor, far, p, eps);
  if (swap) to_far = minimum(at(to_far), at(pairwise_distance(near, far, p, eps)));
  Tensor d = at(at(to_near) - at(to_far)) + margin;
  return reduced(positive(d, at), reduction, at);
}

}  // namespace wick
