#include <algorithm>
#include <cmath>
#include <cstdio>

#include "trainer/autograd/autograd.h"
#include "trainer/tensor/internal.h"
#include "trainer/tensor/ops.h"
#include "trainer/tensor/philox.h"

namespace wick {
namespace {

using TestedFunction = std::function<std::vector<Tensor>(const std::vector<Tensor>&)>;

// Returns the sum over outputs of <output, weights> as a number. The weights make every element of
// the Jacobian count.
double project(const std::vector<Tensor>& outputs, const std::vector<Tensor>& weights) {
  double total = 0;
  for (size_t i = 0; i < outputs.size(); ++i) {
    auto y = outputs[i].to_vector<double>(), w = weights[i].to_vector<double>();
    for (size_t k = 0; k < y.size(); ++k) total += y[k] * w[k];
  }
  return total;
}

// Returns `t`'s values as every other element of a larger tensor.
Tensor spread(const Tensor& t) {
  if (t.rank() == 0) return t.clone();
  Shape wide = t.raw_shape();
  int last = t.rank() - 1;
  wide[last] *= 2;
  Tensor s = zeros(wide, t.dtype()).slice(last, 0, wide[last], 2);
  s.copy_(t);
  return s.detach();
}

// Returns element k in row-major order.
double* element(const Tensor& t, size_t k) {
  const TensorView v = t.layout();
  int64_t rest = static_cast<int64_t>(k), at = 0;
  for (int i = v.rank() - 1; i >= 0; --i) {
    at += rest % v.shape[i] * v.strides[i];
    rest /= v.shape[i];
  }
  return v.as<double>() + at;
}
void set_element(const Tensor& t, size_t k, double value) {
  *element(t, k) = value;
  t.storage().bump_version("gradcheck");
}

std::vector<Tensor> differentiable(const std::vector<Tensor>& outputs) {
  std::vector<Tensor> kept;
  for (const Tensor& t : outputs) {
    if (t.dtype() == DType::kF64) kept.push_back(t);
  }
  return kept;
}

// Checks that a second run of backward gives the results of the first.
void check_repeats(const std::vector<Tensor>& analytic, const std::vector<Tensor>& repeated,
                   const GradcheckOptions& o, GradcheckResult& result) {
  for (size_t i = 0; i < analytic.size(); ++i) {
    if (!analytic[i].defined()) continue;
    auto a = analytic[i].to_vector<double>(), b = repeated[i].to_vector<double>();
    for (size_t k = 0; k < a.size(); ++k) {
      bool same = std::fabs(a[k] - b[k]) <= o.nondet_tol ||
                  (std::isnan(a[k]) && std::isnan(b[k])) || a[k] == b[k];
      if (same) continue;
      result.ok = false;
      char text[200];
      snprintf(text, sizeof text,
               "backward is not deterministic: input %zu, element %zu: %.17g, then %.17g", i, k,
               a[k], b[k]);
      result.message = text;
      return;
    }
  }
}

GradcheckResult check(const TestedFunction& f, const std::vector<Tensor>& given,
                      const GradcheckOptions& o, bool strided, const Where& where) {
  std::vector<Tensor> x;
  for (const Tensor& t : given) {
    Tensor c = strided ? spread(t.detach()) : t.detach().clone();
    if (c.dtype() == DType::kF64) c.requires_grad_();
    x.push_back(c);
  }
  auto y = differentiable(f(x));
  Generator g{42, 0};
  std::vector<Tensor> weights, wanted;
  std::vector<Tensor> recorded, recorded_weights;
  for (const Tensor& t : y) {
    weights.push_back(uniform(t.raw_shape(), 0.5, 1.5, DType::kF64, g));
    if (!t.requires_grad()) continue;
    recorded.push_back(t);
    recorded_weights.push_back(weights.back());
  }
  for (const Tensor& t : x) {
    if (t.requires_grad()) wanted.push_back(t);
  }
  if (recorded.empty()) throw_error("gradcheck", "no output depends on a float64 input", where);
  auto analytic = grad(recorded, wanted, recorded_weights, true, false, true, where);
  // A formula may be a different one when it will be differentiated: check that one's value, too.
  std::vector<Tensor> graphed = analytic;
  if (o.second_order) graphed = grad(recorded, wanted, recorded_weights, true, true, true, where);
  auto repeated = grad(recorded, wanted, recorded_weights, false, false, true, where);

  GradcheckResult result;
  check_repeats(analytic, repeated, o, result);
  if (!result.ok) return result;
  size_t slot = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    if (!x[i].requires_grad()) continue;
    auto elements = [&](const Tensor& t) {
      return t.defined() ? t.to_vector<double>()
                         : std::vector<double>(static_cast<size_t>(x[i].layout().numel()), 0.0);
    };
    auto gradient = elements(analytic[slot]), with_graph = elements(graphed[slot]);
    ++slot;
    NoGrad guard;
    for (size_t k = 0; k < gradient.size(); ++k) {
      double at = *element(x[i], k);
      set_element(x[i], k, at + o.eps);
      double up = project(differentiable(f(x)), weights);
      set_element(x[i], k, at - o.eps);
      double down = project(differentiable(f(x)), weights);
      set_element(x[i], k, at);
      double numeric = (up - down) / (2 * o.eps);
      for (const auto* each : {&gradient, &with_graph}) {
        const double apart = std::fabs((*each)[k] - numeric);
        const double off = apart / (o.atol + o.rtol * std::fabs(numeric));
        if (!(off <= result.worst)) result.worst = off;
        result.worst_relative =
            std::max(result.worst_relative, apart / std::max(1.0, std::fabs(numeric)));
        if (off <= 1 || !result.ok) continue;
        result.ok = false;
        char text[200];
        snprintf(text, sizeof text,
                 "input %zu, element %zu: gradient%s %.12g, finite difference %.12g", i, k,
                 each == &gradient ? "" : " with create_graph", (*each)[k], numeric);
        result.message = text;
      }
    }
  }
  return result;
}

}  // namespace

static GradcheckResult check_both(const TestedFunction& f, const std::vector<Tensor>& inputs,
                                  const GradcheckOptions& o, const Where& where) {
  GradcheckResult r = check(f, inputs, o, false, where);
  if (!r.ok || !o.non_contiguous) return r;
  GradcheckResult strided = check(f, inputs, o, true, where);
  if (!strided.ok) strided.message = "non-contiguous inputs: " + strided.message;
  strided.worst = std::max(r.worst, strided.worst);
  return strided;
}

static GradcheckResult check_orders(const TestedFunction& f, const std::vector<Tensor>& inputs,
                                    const GradcheckOptions& o, const Where& where) {
  GradMode on(true);
  GradcheckResult first = check_both(f, inputs, o, where);
  if (!first.ok || !o.second_order) return first;
  // Checks the gradient of <outputs, v> as a function of the inputs and of v. The v are separate
  // inputs: if they were derived from the outputs (as in a sum of squares), they would be 0 where
  // an output is 0, and would hide what the formula does there.
  const size_t count = inputs.size();
  std::vector<Tensor> point = inputs;
  Generator g{43, 0};
  for (const Tensor& t : differentiable(f(inputs))) {
    point.push_back(uniform(t.raw_shape(), 0.5, 1.5, DType::kF64, g));
  }
  TestedFunction gradient = [&](const std::vector<Tensor>& x) {
    GradMode recording(true);
    std::vector<Tensor> in(x.begin(), x.begin() + static_cast<std::ptrdiff_t>(count));
    std::vector<Tensor> outputs, weights, wanted;
    for (Tensor& t : in) {
      if (t.dtype() != DType::kF64) continue;
      if (!t.requires_grad()) t = t.detach().requires_grad_();
      wanted.push_back(t);
    }
    size_t next = count;
    for (const Tensor& t : differentiable(f(in))) {
      const Tensor& v = x[next++];
      if (!t.requires_grad()) continue;
      outputs.push_back(t);
      weights.push_back(v);
    }
    std::vector<Tensor> all = grad(outputs, wanted, weights, true, true, true);
    for (size_t i = 0; i < all.size(); ++i) {
      if (!all[i].defined()) all[i] = zeros_like(wanted[i]);
    }
    return all;
  };
  GradcheckOptions once = o;
  once.second_order = false;
  GradcheckResult second = check_both(gradient, point, once, where);
  if (!second.ok) second.message = "second order: " + second.message;
  second.worst = std::max(first.worst, second.worst);
  second.worst_relative = std::max(first.worst_relative, second.worst_relative);
  return second;
}

GradcheckResult gradcheck(const TestedFunction& f, const std::vector<Tensor>& inputs,
                          const GradcheckOptions& o, Where where) {
  GradcheckResult r = check_orders(f, inputs, o, where);
  if (!r.ok && o.raise_exception) throw_error("gradcheck", r.message, where);
  return r;
}

GradcheckResult gradgradcheck(const TestedFunction& f, const std::vector<Tensor>& inputs,
                              GradcheckOptions o, Where where) {
  o.second_order = true;
  return gradcheck(f, inputs, o, where);
}

}  // namespace wick
