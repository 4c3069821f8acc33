#include "trainer/tensor/ops/loss/ctc_loss.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "trainer/autograd/function.h"
#include "trainer/tensor/autocast.h"
#include "trainer/tensor/compose.h"
#include "trainer/tensor/recorder.h"

namespace wick {
namespace {

constexpr double kNever = -std::numeric_limits<double>::infinity();

double log_add(double a, double b) {
  if (a < b) std::swap(a, b);
  return b == kNever ? a : a + std::log1p(std::exp(b - a));
}

// One batch entry; its steps are `stride` numbers apart.
struct Entry {
  const double* log_probs;
  int64_t stride, steps, classes, blank;
  std::vector<int64_t> labels;

  double at(int64_t t, int64_t c) const { return log_probs[t * stride + c]; }
  // The states are the target with a blank before, between and after its labels.
  int64_t states() const { return 2 * static_cast<int64_t>(labels.size()) + 1; }
  int64_t label(int64_t s) const { return s % 2 == 0 ? blank : labels[static_cast<size_t>(s / 2)]; }
  // Returns whether the blank between may be left out on the way from state s - 2 to s.
  bool skips(int64_t s) const { return s % 2 == 1 && s >= 3 && label(s) != label(s - 2); }
};

// alpha[t][s]: log of the probability of all paths through the first t steps that end in state s.
std::vector<double> forward_scores(const Entry& e) {
  const int64_t n = e.states();
  std::vector<double> alpha(static_cast<size_t>(e.steps * n), kNever);
  for (int64_t t = 0; t < e.steps; ++t) {
    double* now = alpha.data() + t * n;
    const double* before = now - n;
    for (int64_t s = 0; s < n; ++s) {
      double score = kNever;
      if (t == 0) {
        score = s < 2 ? 0 : kNever;
      } else {
        score = before[s];
        if (s >= 1) score = log_add(score, before[s - 1]);
        if (e.skips(s)) score = log_add(score, before[s - 2]);
      }
      now[s] = score + e.at(t, e.label(s));
    }
  }
  return alpha;
}

double total_score(const Entry& e, const std::vector<double>& alpha) {
  const int64_t n = e.states();
  if (e.steps == 0) return n == 1 ? 0 : kNever;  // without input only the empty target is possible
  const double* last = alpha.data() + (e.steps - 1) * n;
  return n == 1 ? last[0] : log_add(last[n - 1], last[n - 2]);
}

// grad[t][c] -= scale * P(class c at step t | target), by the backward scores.
void add_gradient(const Entry& e, double scale, double* grad) {
  const int64_t n = e.states();
  const std::vector<double> alpha = forward_scores(e);
  const double total = total_score(e, alpha);
  std::vector<double> beta(static_cast<size_t>(n), kNever), next(static_cast<size_t>(n));
  for (int64_t t = e.steps - 1; t >= 0; --t) {
    for (int64_t s = 0; s < n; ++s) {
      double score = kNever;
      if (t == e.steps - 1) {
        score = s >= n - 2 ? 0 : kNever;
      } else {
        auto to = [&](int64_t k) { return beta[static_cast<size_t>(k)] + e.at(t + 1, e.label(k)); };
        score = to(s);
        if (s + 1 < n) score = log_add(score, to(s + 1));
        if (s + 2 < n && e.skips(s + 2)) score = log_add(score, to(s + 2));
      }
      next[static_cast<size_t>(s)] = score;
    }
    beta.swap(next);
    for (int64_t s = 0; s < n; ++s) {
      const double path = alpha[static_cast<size_t>(t * n + s)] + beta[static_cast<size_t>(s)];
      if (path == kNever && total != kNever) continue;
      grad[t * e.stride + e.label(s)] -= scale * std::exp(path - total);
    }
  }
}

struct Batch {
  std::vector<int64_t> input_lengths;
  std::vector<std::vector<int64_t>> labels;
  int64_t steps, entries, classes, blank;
  bool zero_infinity;

  Entry entry(const double* log_probs, int64_t i) const {
    return {log_probs + i * classes,
            entries * classes,
            input_lengths[static_cast<size_t>(i)],
            classes,
            blank,
            labels[static_cast<size_t>(i)]};
  }
};

// Maps log_probs[T, N, C] to losses [N]. Computed in double and rounded once.
struct Ctc : Function<Ctc> {
  static constexpr bool once_differentiable = true;
  static Tensor forward(AutogradContext& ctx, const Tensor& log_probs, const Batch& b) {
    ctx.save_for_backward({log_probs});
    ctx.saved_data["batch"] = b;
    note_host_read("ctc_loss", Where());
    Tensor x = log_probs.detach().to(DType::kF64).contiguous();
    std::vector<double> losses;
    for (int64_t i = 0; i < b.entries; ++i) {
      const Entry e = b.entry(x.raw().as<double>(), i);
      const double loss = -total_score(e, forward_scores(e));
      losses.push_back(b.zero_infinity && std::isinf(loss) ? 0 : loss);
    }
    return from_blob(losses.data(), {b.entries}, DType::kF64).to(log_probs.dtype());
  }
  static variable_list backward(AutogradContext& ctx, const variable_list& g) {
    const auto b = std::any_cast<Batch>(ctx.saved_data["batch"]);
    Tensor saved = ctx.get_saved_variables()[0];
    Tensor x = saved.detach().to(DType::kF64).contiguous();
    const std::vector<double> scale = g[0].to(DType::kF64).to_vector<double>();
    std::vector<double> grad(static_cast<size_t>(b.steps * b.entries * b.classes), 0.0);
    for (int64_t i = 0; i < b.entries; ++i) {
      const Entry e = b.entry(x.raw().as<double>(), i);
      double* to = grad.data() + i * b.classes;
      if (std::isinf(total_score(e, forward_scores(e)))) {
        if (b.zero_infinity) continue;
        for (int64_t t = 0; t < e.steps; ++t) {
          for (int64_t c = 0; c < e.classes; ++c) to[t * e.stride + c] = std::nan("");
        }
        continue;
      }
      add_gradient(e, scale[static_cast<size_t>(i)], to);
    }
    Tensor out = from_blob(grad.data(), {b.steps, b.entries, b.classes}, DType::kF64);
    return {out.to(saved.dtype()), Tensor()};
  }
};

std::string entry_text(const char* what, int64_t i, int64_t value) {
  return std::string(what) + "[" + std::to_string(i) + "] is " + std::to_string(value);
}

// Returns the checked lengths and labels of each entry.
Batch batch_of(const Tensor& x, const Arg& targets, std::vector<int64_t> input_lengths,
               const std::vector<int64_t>& target_lengths, int64_t blank, bool zero_infinity,
               const Where& where) {
  const char* op = "ctc_loss";
  Batch b{
      std::move(input_lengths), {}, dim_of(x, 0), dim_of(x, 1), dim_of(x, 2), blank, zero_infinity};
  const auto n = static_cast<size_t>(b.entries);
  const Tensor& t = targets.tensor;
  if (t.dtype() != DType::kI64 && t.dtype() != DType::kI32) {
    throw_error(op, std::string("targets must be int64 or int32, got ") + dtype_name(t.dtype()),
                where, Code::kTypeMismatch);
  }
  if (blank < 0 || blank >= b.classes) {
    throw_error(op,
                "blank must be in [0, " + std::to_string(b.classes) + "), got " +
                    std::to_string(blank) + " for log_probs " + text(x),
                where);
  }
  if (b.input_lengths.size() != n || target_lengths.size() != n) {
    bad_shape(op,
              "needs " + std::to_string(n) + " input_lengths and target_lengths, got " +
                  std::to_string(b.input_lengths.size()) + " and " +
                  std::to_string(target_lengths.size()) + " for log_probs " + text(x),
              where);
  }
  if (t.rank() < 1 || t.rank() > 2 || (t.rank() == 2 && dim_of(t, 0) != b.entries)) {
    bad_shape(op,
              "targets must be [" + std::to_string(n) + ", S] or all in one vector, got " + text(t),
              where);
  }
  const std::vector<int64_t> labels = t.to(DType::kI64).to_vector<int64_t>(where);
  const int64_t row = dim_of(t, -1);
  int64_t begin = 0;
  for (int64_t i = 0; i < b.entries; ++i) {
    const int64_t steps = b.input_lengths[static_cast<size_t>(i)];
    const int64_t length = target_lengths[static_cast<size_t>(i)];
    if (steps < 0 || steps > b.steps) {
      throw_error(op,
                  entry_text("input_lengths", i, steps) + ", log_probs has " +
                      std::to_string(b.steps) + " steps",
                  where);
    }
    if (t.rank() == 2) begin = i * row;
    const int64_t room = t.rank() == 2 ? row : row - begin;
    if (length < 0 || length > room) {
      throw_error(op,
                  entry_text("target_lengths", i, length) + ", targets " + text(t) + " have " +
                      std::to_string(room) + " left for it",
                  where);
    }
    std::vector<int64_t> own;
    for (int64_t k = 0; k < length; ++k) {
      const int64_t c = labels[static_cast<size_t>(begin + k)];
      if (c < 0 || c >= b.classes || c == blank) {
        throw_error(op,
                    "target " + std::to_string(c) + " at place " + std::to_string(k) +
                        " of batch entry " + std::to_string(i) +
                        (c == blank ? " is the blank"
                                    : " is no class: there are " + std::to_string(b.classes)) +
                        ", log_probs " + text(x),
                    where);
      }
      own.push_back(c);
    }
    b.labels.push_back(std::move(own));
    begin += length;
  }
  if (t.rank() == 1 && begin != row) {
    bad_shape(op,
              "target_lengths add up to " + std::to_string(begin) + ", targets have " +
                  std::to_string(row) + ": " + text(t),
              where);
  }
  return b;
}

}  // namespace

Tensor ctc_loss(const Arg& log_probs, const Arg& targets, const std::vector<int64_t>& input_lengths,
                const std::vector<int64_t>& target_lengths, int64_t blank, Reduction reduction,
                bool zero_infinity) {
  const char* op = "ctc_loss";
  const At at(log_probs);
  const AutocastWide wide;
  if (active_tracer() != nullptr) {
    throw_error(op, "paths depend on values: cannot be captured", log_probs.where,
                Code::kUnsupported);
  }
  Tensor x = log_probs.tensor;
  const bool alone = x.rank() == 2;
  if (!is_float(x.dtype()) || x.rank() < 2 || x.rank() > 3) {
    throw_error(op,
                std::string("log_probs must be floats [T, N, C] or [T, C], got ") +
                    dtype_name(x.dtype()) + text(x),
                log_probs.where, Code::kShapeMismatch);
  }
  if (alone) x = x.unsqueeze(1, log_probs.where);
  Batch b =
      batch_of(x, targets, input_lengths, target_lengths, blank, zero_infinity, log_probs.where);
  std::vector<double> lengths;
  for (const auto& labels : b.labels) lengths.push_back(std::max<double>(1, labels.size()));
  Tensor loss = Ctc::apply(at(x), std::move(b));
  if (reduction == Reduction::kSum) return sum(at(loss));
  if (reduction == Reduction::kMean) {
    return mean(at(div(at(loss), at(tensor(lengths).to(loss.dtype())))));
  }
  return alone ? loss.squeeze(0, log_probs.where) : loss;
}

Tensor ctc_loss(const Arg& log_probs, const Arg& targets, const Tensor& input_lengths,
                const Tensor& target_lengths, int64_t blank, Reduction reduction,
                bool zero_infinity) {
  auto numbers = [&](const Tensor& t) {
    if (!t.defined() || !is_int(t.dtype()) || t.rank() > 1) {
      throw_error("ctc_loss", "lengths must be integers, one a batch entry", log_probs.where,
                  Code::kTypeMismatch);
    }
    return t.to(DType::kI64).reshape({-1}).to_vector<int64_t>(log_probs.where);
  };
  return ctc_loss(log_probs, targets, numbers(input_lengths), numbers(target_lengths), blank,
                  reduction, zero_infinity);
}

}  // namespace wick
