#include "quantize/passes/gptq.h"

#include <algorithm>
#include <cmath>

#include "runtime/core/narrow.h"
#include "wick/error.h"

namespace wick::quantize {
namespace {

using ir::kNoValue;
using ir::Node;
using ir::NodeId;
using ir::ValueId;

// The share of the diagonal's mean that is added to it, as in the paper.
constexpr double kDamping = 0.01;
// The columns whose errors reach the columns behind them together: the order of the subtractions
// from each number is that of one column after the other.
constexpr int64_t kTogether = 128;

// Rows and columns that are worked on together: each number that is read from memory is used for
// all of them, and the chains of sums do not wait for each other.
constexpr int64_t kPanel = 8;

// Turns the upper half of a positive definite matrix H into the upper triangular U of its inverse:
// H^-1 = U^T U. H = V V^T with an upper triangular V, and U is V's inverse. Returns false where H
// is not positive definite.
class InverseFactor {
 public:
  InverseFactor(std::vector<double>& h, int64_t n) : h_(h), n_(n) {}

  bool run() {
    for (int64_t end = n_; end > 0; end = std::max<int64_t>(0, end - kPanel)) {
      const int64_t from = std::max<int64_t>(0, end - kPanel);
      subtract_products(from, end);
      if (!finish_columns(from, end)) return false;
    }
    rows_.resize(static_cast<size_t>(kPanel * n_));
    for (int64_t end = n_; end > 0; end = std::max<int64_t>(0, end - kPanel))
      invert_rows(std::max<int64_t>(0, end - kPanel), end);
    return true;
  }

 private:
  double* row(int64_t i) { return h_.data() + i * n_; }

  // V's columns from..end - 1, as far as the columns from `end` on say.
  void subtract_products(int64_t from, int64_t end) {
    const double* by[kPanel];
    for (int64_t c = 0; c < kPanel; ++c) by[c] = row(std::min(from + c, end - 1));
    for (int64_t i = 0; i < end; ++i) {
      double* of = row(i);
      double sums[kPanel] = {};
      for (int64_t k = end; k < n_; ++k) {
        for (int64_t c = 0; c < kPanel; ++c) sums[c] += of[k] * by[c][k];
      }
      for (int64_t j = std::max(i, from); j < end; ++j) of[j] -= sums[j - from];
    }
  }

  // The same columns, by each other.
  bool finish_columns(int64_t from, int64_t end) {
    for (int64_t j = end - 1; j >= from; --j) {
      double* by = row(j);
      double pivot = by[j];
      for (int64_t k = j + 1; k < end; ++k) pivot -= by[k] * by[k];
      if (!(pivot > 0) || !std::isfinite(pivot)) return false;
      by[j] = std::sqrt(pivot);
      for (int64_t i = 0; i < j; ++i) {
        double* of = row(i);
        double sum = of[j];
        for (int64_t k = j + 1; k < end; ++k) sum -= of[k] * by[k];
        of[j] = sum / by[j];
      }
    }
    return true;
  }

  // U's rows from..end - 1 by those behind them, which are done.
  void invert_rows(int64_t from, int64_t end) {
    std::fill(rows_.begin(), rows_.end(), 0);
    for (int64_t k = end; k < n_; ++k) {
      const double* done = row(k);
      for (int64_t i = from; i < end; ++i) {
        const double v = row(i)[k];
        double* to = rows_.data() + (i - from) * n_;
        for (int64_t j = k; j < n_; ++j) to[j] -= v * done[j];
      }
    }
    for (int64_t i = end - 1; i >= from; --i) {
      double *of = row(i), *to = rows_.data() + (i - from) * n_;
      for (int64_t k = i + 1; k < end; ++k) {
        const double *done = row(k), v = of[k];
        for (int64_t j = k; j < n_; ++j) to[j] -= v * done[j];
      }
      const double pivot = of[i];
      of[i] = 1 / pivot;
      for (int64_t j = i + 1; j < n_; ++j) of[j] = to[j] / pivot;
    }
  }

  std::vector<double>& h_;
  const int64_t n_;
  std::vector<double> rows_;
};

}  // namespace

bool gptq(const HostTensor& weight, const Moments& moments, const ColumnRounding& to) {
  const int64_t rows = weight.shape()[0], n = moments.n;
  std::vector<double> u = moments.sums;
  std::vector<double> w(weight.as<float>(), weight.as<float>() + weight.numel());
  double mean = 0;
  for (int64_t j = 0; j < n; ++j) {
    double& d = u[static_cast<size_t>(j * n + j)];
    if (d == 0) {  // no input reaches the column
      d = 1;
      for (int64_t r = 0; r < rows; ++r) w[static_cast<size_t>(r * n + j)] = 0;
    }
    mean += d / static_cast<double>(n);
  }
  for (int64_t j = 0; j < n; ++j) u[static_cast<size_t>(j * n + j)] += kDamping * mean;
  if (!InverseFactor(u, n).run()) return false;
  if (to.block != 0 && kTogether % to.block != 0)
    throw_error("gptq", "blocks of " + std::to_string(to.block) + " columns do not divide " +
                            std::to_string(kTogether));
  const int64_t wide = std::min(kTogether, n);
  std::vector<double> errors(static_cast<size_t>(rows * wide));
  for (int64_t from = 0; from < n; from += wide) {
    const int64_t end = std::min(from + wide, n);
    for (int64_t r = 0; r < rows; ++r) {
      double* row = w.data() + r * n;
      double* error = errors.data() + r * wide;
      for (int64_t j = from; j < end; ++j) {
        // A block of one scale lies within these columns, so its numbers are up to date.
        if (to.block != 0 && j % to.block == 0) to.begin(r, j, std::min(j + to.block, n), row + j);
        const double* factors = u.data() + j * n;
        error[j - from] = (row[j] - to.round(r, j, row[j])) / factors[j];
        for (int64_t k = j + 1; k < end; ++k) row[k] -= error[j - from] * factors[k];
      }
    }
    for (int64_t r = 0; r < rows; ++r) {
      double* row = w.data() + r * n;
      for (int64_t j = from; j < end; ++j) {
        const double error = errors[static_cast<size_t>(r * wide + j - from)];
        const double* factors = u.data() + j * n;
        for (int64_t k = end; k < n; ++k) row[k] -= error * factors[k];
      }
    }
  }
  return true;
}

HostTensor gptq_integers(const HostTensor& weight, const QParams& q, const Moments* moments) {
  HostTensor out(q.dtype, weight.shape());
  const IntegerRange range = integer_range(q.dtype);
  ColumnRounding to;
  to.round = [&](int64_t row, int64_t column, double w) {
    const size_t k = q.per_tensor() ? 0 : static_cast<size_t>(row);
    const double whole = std::nearbyint(static_cast<float>(w) / q.scale[k]) + q.zero_point[k];
    const auto integer = static_cast<int32_t>(std::clamp<double>(whole, range.lo, range.hi));
    const int64_t at = row * moments->n + column;
    if (dtype_bits(q.dtype) == 8) {
      out.as<uint8_t>()[at] = static_cast<uint8_t>(integer);
    } else {
      set_packed(out.data(), 4, at, static_cast<uint8_t>(integer & 15));
    }
    return static_cast<double>(integer - q.zero_point[k]) * q.scale[k];
  };
  if (moments == nullptr || !gptq(weight, *moments, to)) return to_integers(weight, q);
  return out;
}

LayerInputs::LayerInputs(const ir::Graph& graph, const Batches& batches,
                         const CalibrateOptions& options)
    : g_(graph), batches_(batches), o_(options) {
  if (!batches) throw_error("gptq", "it needs batches of the model's inputs, and got none");
  for (const Node& n : graph.nodes()) {
    if (n.removed() || n.op != OpId::kLinear || !graph.is_constant(n.inputs[1])) continue;
    inputs_[n.inputs[1]].push_back(n.inputs[0]);
  }
  for (auto& [weight, read] : inputs_) std::sort(read.begin(), read.end());
}

const Moments* LayerInputs::of(ValueId weight) {
  const auto found = inputs_.find(weight);
  if (found == inputs_.end()) return nullptr;
  const ir::Value& w = g_.value(weight);
  if (const int64_t n = w.constant.shape()[1]; n > kMostInputs) {
    const std::string note = (w.name.empty() ? "a weight" : w.name) + ": its layer has " +
                             std::to_string(n) + " inputs, GPTQ takes " +
                             std::to_string(kMostInputs) + " at most: rounded to the nearest";
    if (std::find(notes_.begin(), notes_.end(), note) == notes_.end()) notes_.push_back(note);
    return nullptr;
  }
  if (moments_.count(found->second) == 0) run(weight);
  return &moments_.at(found->second);
}

void LayerInputs::run(ValueId first) {
  moments_.clear();
  int64_t bytes = 0;
  std::map<ValueId, std::vector<Moments*>> watched;
  const auto take = [&](ValueId weight) {
    const std::vector<ValueId>& read = inputs_.at(weight);
    const int64_t n = g_.value(weight).constant.shape()[1];
    if (n > kMostInputs) return;
    const int64_t more = n * n * static_cast<int64_t>(sizeof(double));
    if (moments_.count(read) != 0 || (bytes > 0 && bytes + more > kMostMoments)) return;
    bytes += more;
    Moments& m = moments_[read];
    m.n = n;
    m.sums.resize(static_cast<size_t>(n * n));
    for (ValueId v : read) watched[v].push_back(&m);
  };
  take(first);
  // Weights have rising ids in most graphs: those behind this one are asked for next.
  for (auto at = inputs_.upper_bound(first); at != inputs_.end(); ++at) take(at->first);
  const auto see = [&](ValueId v, const HostTensor& x) {
    const auto found = watched.find(v);
    if (found == watched.end() || x.dtype() != DType::kF32) return;
    for (Moments* m : found->second) {
      const int64_t n = m->n;
      for (int64_t row = 0; row < x.numel() / n; ++row) {
        const float* of = x.as<float>() + row * n;
        for (int64_t i = 0; i < n; ++i) {
          const double a = of[i];
          if (a == 0) continue;
          double* sums = m->sums.data() + i * n;
          for (int64_t j = i; j < n; ++j) sums[j] += a * of[j];
        }
      }
    }
  };
  ir::InterpreterOptions options;
  options.kernels = o_.kernels;
  options.after_node = [&](NodeId id, Span<const HostTensor> out) {
    for (size_t k = 0; k < out.size(); ++k) see(g_.node(id).outputs[k], out[k]);
  };
  int64_t done = 0;
  for (;; ++done) {
    const std::optional<Batch> batch = batches_(done);
    if (!batch) break;
    const std::vector<HostTensor> inputs = graph_inputs(g_, *batch, done);
    for (size_t i = 0; i < inputs.size(); ++i) see(g_.inputs()[i], inputs[i]);
    ir::run(g_, inputs, options);
  }
  if (done == 0) throw_error("gptq", "there is no batch of the model's inputs");
}

}  // namespace wick::quantize
