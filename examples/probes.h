// Is it a GPT? Six measurements that a model only passes if its mask, its attention and its
// positions work; a good loss alone does not prove that. Header only, for examples and tests:
//
//   for (const probes::Probe& p : {probes::causality(model, tokens), ...}) puts(p.text().c_str());
//
// A model is any function from tokens[B, T] (int64) to logits[B, T, vocab], in eval mode.
#pragma once

#include <cmath>
#include <cstdio>
#include <functional>
#include <string>
#include <vector>

#include "wick/trainer.h"

namespace wick::probes {

using Model = std::function<Tensor(const Tensor& tokens)>;

struct Probe {
  std::string name;
  double value = 0, bound = 0;
  bool at_most = true;  // passes if value <= bound, else if value > bound
  bool passed() const { return at_most ? value <= bound : value > bound; }  // NaN does not pass
  std::string text() const {
    char line[160];
    snprintf(line, sizeof line, "%-12s %-5s %.3g (%s %.3g)", name.c_str(),
             passed() ? "holds" : "FAILS", value, at_most ? "at most" : "more than", bound);
    return line;
  }
};

// Returns the largest difference of two tensors; NaN if one of them has a NaN.
inline double difference(const Tensor& a, const Tensor& b) { return amax(abs(a - b)).item(); }

// Returns tokens[B, T] with those in [from, to) replaced by other tokens in [0, vocab).
inline Tensor replaced(const Tensor& tokens, int64_t from, int64_t to, int64_t vocab) {
  Tensor changed = tokens.clone();
  changed.slice(1, from, to).copy_((tokens.slice(1, from, to) + 1) % vocab);
  return changed;
}

// Other tokens after a position must not change the logits up to it.
inline Probe causality(const Model& model, const Tensor& tokens, int64_t vocab) {
  NoGrad guard;
  const int64_t time = tokens.size(1);
  Tensor before = model(tokens);
  Probe p{"causality", 0, 1e-4, true};
  for (int64_t cut = 1; cut < time; cut += std::max<int64_t>(1, time / 4)) {
    Tensor after = model(replaced(tokens, cut, time, vocab));
    const double moved = difference(before.slice(1, 0, cut), after.slice(1, 0, cut));
    if (!(moved <= p.value)) p.value = moved;
  }
  return p;
}

// Other tokens before the last one must change its logits.
inline Probe context(const Model& model, const Tensor& tokens, int64_t vocab) {
  NoGrad guard;
  const int64_t last = tokens.size(1) - 1;
  Tensor before = model(tokens), after = model(replaced(tokens, 0, last, vocab));
  return {"context", difference(before.select(1, last), after.select(1, last)), 1e-3, false};
}

// For a repeated token the logits must still depend on the position.
inline Probe position(const Model& model, int64_t token, int64_t time) {
  NoGrad guard;
  Tensor logits = model(full({1, time}, token, DType::kI64));
  return {"position", amax(amax(logits, 1) - amin(logits, 1)).item(), 1e-3, false};
}

// The entropy of causal attention weights [B, heads, T, T], one tensor per layer, relative to that
// of equal weights: the mean over rows that attend to at least two positions.
inline Probe entropy(const std::vector<Tensor>& weights) {
  double sum = 0;
  int64_t rows = 0;
  for (const Tensor& layer : weights) {
    const int64_t time = layer.size(-1);
    const std::vector<float> w = layer.contiguous().to_vector<float>();
    for (size_t row = 0; row < w.size() / static_cast<size_t>(time); ++row) {
      const int64_t sees = static_cast<int64_t>(row) % time + 1;
      if (sees < 2) continue;
      double h = 0;
      for (int64_t i = 0; i < sees; ++i) {
        const double p = w[row * static_cast<size_t>(time) + static_cast<size_t>(i)];
        if (p > 0) h -= p * std::log(p);
      }
      sum += h / std::log(static_cast<double>(sees));
      ++rows;
    }
  }
  return {"entropy", rows == 0 ? NAN : sum / static_cast<double>(rows), 0.90, true};
}

// Returns the mean of -log p(target), computed in double, one logit after the other.
inline double counted_loss(const Tensor& logits, const Tensor& targets) {
  const int64_t vocab = logits.size(-1);
  const std::vector<float> x = logits.detach().contiguous().to_vector<float>();
  const std::vector<int64_t> t = targets.contiguous().to_vector<int64_t>();
  double total = 0;
  for (size_t i = 0; i < t.size(); ++i) {
    const float* row = x.data() + i * static_cast<size_t>(vocab);
    double top = row[0], sum = 0;
    for (int64_t v = 1; v < vocab; ++v) top = std::max(top, static_cast<double>(row[v]));
    for (int64_t v = 0; v < vocab; ++v) sum += std::exp(row[v] - top);
    total += top + std::log(sum) - row[t[i]];
  }
  return total / static_cast<double>(t.size());
}
// The loss that a training loop reports for these tokens, compared with the correct one.
inline Probe loss(const Model& model, const Tensor& tokens, const Tensor& targets,
                  double reported) {
  NoGrad guard;
  const double right = counted_loss(model(tokens), targets);
  return {"loss", std::fabs(reported - right) / right, 1e-5, true};
}

// Returns the cross entropy of (tokens, targets) under the pairs counted in `text`, plus one each.
inline double bigram_loss(const std::vector<int64_t>& text, const Tensor& tokens,
                          const Tensor& targets, int64_t vocab) {
  std::vector<double> pair(static_cast<size_t>(vocab * vocab), 1);
  std::vector<double> single(static_cast<size_t>(vocab), static_cast<double>(vocab));
  for (size_t i = 0; i + 1 < text.size(); ++i) {
    ++pair[static_cast<size_t>(text[i] * vocab + text[i + 1])];
    ++single[static_cast<size_t>(text[i])];
  }
  const std::vector<int64_t> x = tokens.contiguous().to_vector<int64_t>(),
                             y = targets.contiguous().to_vector<int64_t>();
  double total = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    total -= std::log(pair[static_cast<size_t>(x[i] * vocab + y[i])] /
                      single[static_cast<size_t>(x[i])]);
  }
  return total / static_cast<double>(x.size());
}
// The model must beat the pairs counted in its training text, on text that neither has seen.
inline Probe bigram(const Model& model, const std::vector<int64_t>& text, const Tensor& tokens,
                    const Tensor& targets, int64_t vocab) {
  NoGrad guard;
  return {"bigram", counted_loss(model(tokens), targets), bigram_loss(text, tokens, targets, vocab),
          true};
}

}  // namespace wick::probes
