// Losses over classes: log-probabilities selected by targets.
#include <cmath>

#include "trainer/tensor/autocast.h"
#include "trainer/tensor/compose.h"
#include "trainer/tensor/device/vulkan_memory.h"
#include "trainer/tensor/ops/loss/losses.h"
#include "trainer/tensor/recorder.h"

namespace wick {
namespace {

struct Classes {
  int dim;        // the dim of the classes in the logits
  int64_t count;  // C
  bool ignores;   // some target may be ignore_index
};

std::string position(const Shape& s, int64_t flat) {
  Shape at;
  at.set_rank(s.rank());
  for (int i = s.rank() - 1; i >= 0; --i) at[i] = flat % s[i], flat /= s[i];
  return to_text(at).text;
}

// Checks the shapes, the target's dtype, and (if values can be read) that every target is a class.
Classes check(const char* op, const Arg& x, const Arg& target, const ClassLossOptions& o) {
  const Shape &s = x.tensor.raw_shape(), &t = target.tensor.raw_shape();
  if (s.rank() < 1) bad_shape(op, "needs [N, C, ...] or [C], got " + text(x.tensor), x.where);
  Classes c{s.rank() == 1 ? 0 : 1, 0, true};
  c.count = s[c.dim];
  bool fits = t.rank() == s.rank() - 1;
  for (int i = 0; fits && i < t.rank(); ++i) fits = t[i] == s[i < c.dim ? i : i + 1];
  if (!fits) {
    bad_shape(op,
              "needs [N, C, ...] and targets [N, ...], got " + text(x.tensor) + " and " +
                  text(target.tensor),
              x.where);
  }
  if (target.tensor.dtype() != DType::kI64) {
    throw_error(op,
                std::string("targets must be int64 class indices, got ") +
                    dtype_name(target.tensor.dtype()) + ": convert with to(DType::kI64)",
                x.where, Code::kTypeMismatch);
  }
  if (o.weight.defined() && (o.weight.rank() != 1 || o.weight.raw_shape()[0] != c.count)) {
    bad_shape(op, "weight must be [" + std::to_string(c.count) + "], got " + text(o.weight),
              x.where);
  }
  if (active_tracer() != nullptr) return c;
  Tensor values = target.tensor.detach().cpu(x.where).contiguous();
  const auto* v = values.raw().as<int64_t>();
  // A mean and a quotient of two sums round differently if sums are rounded to 16 bits, so eager
  // mode uses the form that capture has.
  c.ignores = dtype_bits(x.tensor.dtype()) == 16;
  for (int64_t i = 0, n = values.layout().numel(); i < n; ++i) {
    if (v[i] == o.ignore_index) {
      c.ignores = true;
    } else if (v[i] < 0 || v[i] >= c.count) {
      throw_error(op,
                  "target " + std::to_string(v[i]) + " at " + position(t, i) +
                      " is no class: there are " + std::to_string(c.count) + ", 0 to " +
                      std::to_string(c.count - 1),
                  x.where);
    }
  }
  if (Recorder* r = modes().recorder) [[unlikely]] {
    const bool half = dtype_bits(x.tensor.dtype()) == 16;
    r->on_check(
        values,
        [=, count = c.count, ignored = o.ignore_index, ignores = c.ignores](const TensorView& t) {
          bool found = half;
          for (int64_t i = 0, n = t.numel(); i < n; ++i) {
            const int64_t target = t.as<int64_t>()[i];
            found = found || target == ignored;
            if (target != ignored && (target < 0 || target >= count)) return false;
          }
          return found == ignores;
        },
        op, x.where);
  }
  return c;
}

// The weight of each target: that of its class, 0 if ignored.
struct Picked {
  Tensor loss;    // -log_prob of the target's class, times its weight
  Tensor counts;  // undefined: all 1
  Tensor kept;    // false where ignored; undefined: none is
};

Picked pick(const Arg& x, const Arg& target, const Classes& c, const ClassLossOptions& o) {
  const At at(x);
  const AutocastWide wide;
  Picked p;
  Tensor index = target.tensor, zero = full({}, 0, x.tensor.dtype());
  if (c.ignores) {
    p.kept = ne(target, o.ignore_index);
    index = where(at(p.kept), target, at(full({}, 0, DType::kI64)));
  }
  Tensor row = index.unsqueeze(c.dim, x.where);
  p.loss = neg(at(gather(x, c.dim, at(row)))).squeeze(c.dim, x.where);
  if (o.weight.defined()) {
    p.counts = index_select(at(o.weight), 0, at(index));
  }
  if (c.ignores) {
    Tensor one = full({}, 1, x.tensor.dtype());
    p.counts = p.counts.defined() ? where(at(p.kept), at(p.counts), at(zero))
                                  : where(at(p.kept), at(one), at(zero));
    p.loss = where(at(p.kept), at(p.loss), at(zero));
  }
  if (o.weight.defined()) p.loss = at(p.loss) * at(p.counts);
  return p;
}

Tensor finish(const Picked& p, const Tensor& loss, Reduction reduction, const At& at) {
  if (reduction != Reduction::kMean || !p.counts.defined()) return reduced(loss, reduction, at);
  return at(sum(at(loss))) / at(sum(at(p.counts)));
}

// Targets that are probabilities, of the logits' shape.
Tensor soft_cross_entropy(const Arg& logits, const Arg& target, const ClassLossOptions& o) {
  const At at(logits);
  const AutocastWide wide;
  const int rank = logits.tensor.rank(), dim = rank == 1 ? 0 : 1;
  Tensor log_probs = log_softmax(logits, dim), t = target.tensor;
  const int64_t classes = dim_of(logits.tensor, dim);
  if (o.label_smoothing > 0) {
    t = at(at(t) * (1 - o.label_smoothing)) + o.label_smoothing / static_cast<double>(classes);
  }
  Tensor terms = at(log_probs) * at(t);
  if (o.weight.defined()) {
    Shape line;
    for (int i = 0; i < rank; ++i) line.push_back(i == dim ? classes : 1);
    terms = at(terms) * at(o.weight.reshape(line, logits.where));
  }
  Tensor loss = neg(at(sum(at(terms), {dim})));
  return reduced(loss, o.reduction, at);
}

}  // namespace

Tensor nll_loss(const Arg& log_probs, const Arg& target, const ClassLossOptions& o) {
  const At at(log_probs);
  const AutocastWide wide;
  const Classes c = check("nll_loss", log_probs, target, o);
  const Picked p = pick(log_probs, target, c, o);
  return finish(p, p.loss, o.reduction, at);
}
Tensor nll_loss(const Arg& log_probs, const Arg& target, Reduction reduction) {
  ClassLossOptions o;
  o.reduction = reduction;
  return nll_loss(log_probs, target, o);
}

Tensor cross_entropy(const Arg& logits, const Arg& target, const ClassLossOptions& o) {
  const At at(logits);
  const AutocastWide wide;
  if (!(o.label_smoothing >= 0 && o.label_smoothing <= 1)) {
    throw_error("cross_entropy",
                "label_smoothing must be in [0, 1], got " + std::to_string(o.label_smoothing),
                logits.where);
  }
  if (is_float(target.tensor.dtype()) && target.tensor.raw_shape() == logits.tensor.raw_shape() &&
      logits.tensor.rank() > 0) {
    return soft_cross_entropy(logits, target, o);
  }
  const Classes c = check("cross_entropy", logits, target, o);
  Tensor log_probs = log_softmax(logits, c.dim);
  const Picked p = pick(at(log_probs), target, c, o);
  if (o.label_smoothing == 0) return finish(p, p.loss, o.reduction, at);
  // The remaining part of each target is spread evenly over the classes.
  Tensor spread = log_probs;
  if (o.weight.defined()) {
    Shape line;
    for (int i = 0; i < log_probs.rank(); ++i) line.push_back(i == c.dim ? c.count : 1);
    spread = at(spread) * at(o.weight.reshape(line, logits.where));
  }
  spread = neg(at(sum(at(spread), {c.dim})));
  if (p.kept.defined()) {
    spread = where(at(p.kept), at(spread), at(full({}, 0, spread.dtype())));
  }
  const double even = o.label_smoothing / static_cast<double>(c.count);
  Tensor loss = at(at(p.loss) * (1 - o.label_smoothing)) + at(at(spread) * even);
  return finish(p, loss, o.reduction, at);
}
Tensor cross_entropy(const Arg& logits, const Arg& target, Reduction reduction) {
  ClassLossOptions o;
  o.reduction = reduction;
  return cross_entropy(logits, target, o);
}

Tensor multi_margin_loss(const Arg& x, const Arg& target, double margin, Reduction reduction) {
  const At at(x);
  const AutocastWide wide;
  ClassLossOptions o;
  o.ignore_index = INT64_MIN;  // ignores none
  const Classes c = check("multi_margin_loss", x, target, o);
  Tensor row = target.tensor.unsqueeze(c.dim, x.where);
  Tensor own = gather(x, c.dim, at(row));
  Tensor over = relu(at(at(sub(x, at(own))) + margin));
  Shape line;
  for (int i = 0; i < x.tensor.rank(); ++i) line.push_back(i == c.dim ? c.count : 1);
  const Tensor classes = moved_beside(row, arange(c.count).reshape(line), x.where);
  Tensor other = ne(at(classes), at(row));
  Tensor terms = where(at(other), at(over), at(full({}, 0, x.tensor.dtype())));
  Tensor loss = at(sum(at(terms), {c.dim})) * (1.0 / static_cast<double>(c.count));
  return reduced(loss, reduction, at);
}

}  // namespace wick
