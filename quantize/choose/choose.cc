#include "quantize/choose/choose.h"

#include <algorithm>

#include "quantize/choose/output_error.h"
#include "wick/error.h"

namespace wick::quantize {
namespace {

using ir::Graph;

constexpr ObserverKind kTriedObservers[] = {ObserverKind::kMinMax, ObserverKind::kMovingAverage,
                                            ObserverKind::kPercentile, ObserverKind::kEntropy,
                                            ObserverKind::kMse};
constexpr size_t kEqualized = 3;  // how many of the best ways are tried on the equalized graph

bool better(const Trial& a, const Trial& b) {
  if (a.score != b.score) return a.score > b.score;
  return a.sqnr_db > b.sqnr_db;
}

class Chooser {
 public:
  Chooser(const Graph& graph, const Recipe& recipe, const Batches& batches,
          const ChooseOptions& options)
      : g_(graph), r_(recipe), batches_(batches), o_(options), by_gptq_(recipe.gptq) {
    r_.gptq = false;  // until the end: it takes far longer than a way without it
  }

  Choice run() {
    std::vector<Calibration> seen = calibrated(g_, specs());
    outputs_.emplace(g_, batches_, seen[0].batches, o_.batches, o_.calibrate);
    const std::vector<ObserverSpec> all = specs();
    expected_ = static_cast<int64_t>(all.size() * (r_.bias_correction ? 1 : 2) + 1 + kEqualized +
                                     (by_gptq_ ? 1 : 0));
    for (size_t i = 0; i < all.size(); ++i) {
      if (all[i].kind == ObserverKind::kMovingAverage && seen[i].batches == 1) continue;  // min-max
      for (const bool correct : {false, true}) {
        if (correct || !r_.bias_correction) attempt(g_, seen[i], with(r_, all[i], correct));
      }
    }
    if (r_.weight_observer.kind == ObserverKind::kMinMax) {
      Recipe r = choice_.recipe;
      r.weight_observer.kind = ObserverKind::kMse;
      const Calibration c = choice_.calibration;
      attempt(g_, c, r);
    }
    if (!r_.equalize) over_equalized();
    if (by_gptq_) {
      Recipe r = choice_.recipe;
      r.gptq = true;
      const Graph g = choice_.graph;
      const Calibration c = choice_.calibration;
      attempt(g, c, r, true);
    }
    return std::move(choice_);
  }

 private:
  std::vector<ObserverSpec> specs() const {
    std::vector<ObserverSpec> all;
    for (const ObserverKind kind : kTriedObservers) {
      all.push_back(r_.activation_observer);
      all.back().kind = kind;
    }
    return all;
  }

  std::vector<Calibration> calibrated(const Graph& g, const std::vector<ObserverSpec>& by) const {
    Recipe r = r_;
    r.bias_correction = true;  // each calibration has the means, whether or not they are used
    return calibrate_all(g, batches_, r, by, o_.calibrate);
  }

  static Recipe with(Recipe r, const ObserverSpec& spec, bool correct) {
    r.activation_observer = spec;
    r.bias_correction = correct;
    return r;
  }

  void attempt(const Graph& g, const Calibration& c, const Recipe& r, bool keep = false) {
    QuantizeResult made = quantize_static(g, c, r, batches_, o_.calibrate);
    Trial t;
    t.activations = r.activation_observer;
    t.weights = r.weight_observer.kind;
    t.bias_correction = r.bias_correction;
    t.equalize = r.equalize;
    t.gptq = r.gptq;
    t.sqnr_db = outputs_->sqnr_db(made.graph);
    if (o_.score) t.score = o_.score(made.graph);
    tried_by_.push_back(r);
    std::vector<Trial>& tried = choice_.tried;
    if (keep || tried.empty() || better(t, tried[choice_.best])) {
      choice_.best = tried.size();
      choice_.graph = g;
      choice_.recipe = r;
      choice_.calibration = c;
      choice_.result = std::move(made);
    }
    tried.push_back(std::move(t));
    const auto done = static_cast<int64_t>(tried.size());
    if (o_.progress) o_.progress(done, std::max(done, expected_));
  }

  void over_equalized() {
    Graph g = g_;
    if (!equalize(g)) return;
    std::vector<size_t> order(choice_.tried.size());
    for (size_t i = 0; i < order.size(); ++i) order[i] = i;
    std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
      return better(choice_.tried[a], choice_.tried[b]);
    });
    order.resize(std::min(order.size(), kEqualized));
    std::vector<ObserverSpec> by;
    for (size_t i : order) by.push_back(choice_.tried[i].activations);
    const std::vector<Calibration> seen = calibrated(g, by);
    for (size_t k = 0; k < order.size(); ++k) {
      Recipe r = tried_by_[order[k]];
      r.equalize = true;
      attempt(g, seen[k], r);
    }
  }

  const Graph& g_;
  Recipe r_;
  const Batches& batches_;
  const ChooseOptions& o_;
  const bool by_gptq_;
  std::optional<OutputError> outputs_;
  std::vector<Recipe> tried_by_;  // as long as Choice::tried
  int64_t expected_ = 0;
  Choice choice_;
};

}  // namespace

std::string Trial::text() const {
  std::string all = observer_name(activations.kind);
  if (bias_correction) all += ", bias correction";
  if (equalize) all += ", equalized";
  if (weights != ObserverKind::kMinMax)
    all += std::string(", weights by ") + observer_name(weights);
  if (gptq) all += ", GPTQ";
  return all;
}

Choice choose(const Graph& graph, const Recipe& recipe, const Batches& batches,
              const ChooseOptions& options) {
  if (recipe.mode != Mode::kStatic) {
    throw_error("quantize", std::string("recipe \"") + mode_name(recipe.mode) +
                                "\" has no ranges of activations to choose");
  }
  if (!batches) throw_error("quantize", "static quantization needs data to calibrate with");
  return Chooser(graph, recipe, batches, options).run();
}

}  // namespace wick::quantize
