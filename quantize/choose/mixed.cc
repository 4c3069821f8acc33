#include "quantize/choose/mixed.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "graph/ir/stored_dtype.h"
#include "quantize/choose/output_error.h"
#include "quantize/passes/half_weights.h"
#include "quantize/report/error_sums.h"
#include "runtime/registry/registry.h"
#include "wick/error.h"

namespace wick::quantize {
namespace {

using ir::Graph;
using ir::Node;
using ir::NodeId;
using ir::ValueId;

// A width that saves less than this share of a layer's weights as int8 saves nothing.
constexpr double kLeastSaved = 0.1;
// int4 that saves less than this share of a file, all its layers together, saves nothing: where
// int4 is held as int8, small layers happen to be compressed better.
constexpr double kLeastOfFile = 0.03;
constexpr int64_t kSpread = 7;  // models that are made at even distances along the way

// As a .wick file keeps them.
int64_t constant_bytes(const QuantizeResult& made) {
  int64_t bytes = 0;
  for (size_t v = 0; v < made.graph.value_count(); ++v) {
    const HostTensor& t = made.graph.value(static_cast<ValueId>(v)).constant;
    if (!t.present()) continue;
    const auto whole = static_cast<int64_t>(t.nbytes());
    bytes += ir::stored_dtype(t) == t.dtype() ? whole : whole / 2;
  }
  return bytes;
}

double noise(double db) { return db >= kExactDb ? 0 : std::pow(10, -db / 10); }

// A step along the way: this layer becomes this narrow.
struct Move {
  size_t layer = 0;
  Width to = Width::kF32;
};

class Mixer {
 public:
  Mixer(const Graph& graph, const Recipe& recipe, const Batches& batches, const Budget& budget,
        const MixedOptions& options)
      : g_(graph), r_(recipe), batches_(batches), budget_(budget), o_(options) {
    r_.widths.clear();
    if (r_.mode == Mode::kStatic) {
      full_ = plan_quantization(g_, r_);
      if (o_.calibration != nullptr) seen_ = *o_.calibration;
      if (o_.calibration == nullptr) seen_ = calibrate(g_, batches_, r_, o_.calibrate);
    }
  }

  Mixed run() {
    find_layers();
    const int64_t count = batch_count();
    all_.emplace(g_, batches_, count, o_.batches, o_.calibrate);
    measure_alone(OutputError(g_, batches_, count, 1, o_.calibrate));
    find_way();
    const auto last = static_cast<int64_t>(way_.size());
    for (int64_t i = 0; i < kSpread; ++i) make(i * last / (kSpread - 1));
    if (budget_.max_bytes)
      narrow([&](const MixedPoint& p) { return p.bytes > *budget_.max_bytes; });
    if (budget_.max_drop) narrow([&](const MixedPoint& p) { return keeps_drop(p); });
    return conclude();
  }

 private:
  int64_t batch_count() const {
    if (r_.mode == Mode::kStatic) return seen_.batches;
    int64_t n = 0;
    while (n < o_.batches && batches_ && batches_(n)) ++n;
    return n;
  }

  void find_layers() {
    const std::vector<std::string> excluded = excluded_nodes(g_, r_);
    std::map<std::string, size_t> known;
    std::set<std::string> stayed;
    Recipe quick = r_;
    quick.bias_correction = quick.gptq = false;
    for (const Unquantized& u : quantized(quick).stayed) stayed.insert(u.node);
    for (size_t k = 0; k < g_.node_count(); ++k) {
      const Node& n = g_.node(static_cast<NodeId>(k));
      if (n.removed() || !excluded[k].empty()) continue;
      int64_t elements = 0;
      bool halves = true;
      for (size_t i = 0; i < n.inputs.size(); ++i) {
        if (!is_weight(g_, n, i)) continue;
        const HostTensor& w = g_.value(n.inputs[i]).constant;
        elements += w.numel();
        halves = halves && rounded_to(w, DType::kF16).present();
      }
      if (elements == 0) continue;
      const std::string name = display_name(g_, static_cast<NodeId>(k));
      LayerCost layer;
      layer.node = name;
      const OpInfo* op = op_info(n.op);
      layer.op = op == nullptr ? "unknown" : op->name;
      layer.elements = elements;
      if (halves) layer.alone[Width::kF16] = 0;
      if (stayed.count(name) == 0) {
        const bool layers =
            n.op == OpId::kLinear || (n.op == OpId::kConv && r_.mode == Mode::kStatic);
        if (layers && r_.mode != Mode::kDynamic) layer.alone[Width::kInt4] = 0;
        if (layers || (n.op == OpId::kGather && r_.mode != Mode::kStatic))
          layer.alone[Width::kInt8] = 0;
      }
      const auto [at, fresh] = known.emplace(name, layers_.size());
      if (fresh) {
        layers_.push_back(std::move(layer));
        continue;
      }
      // Nodes of one name have one width, which all of them can have.
      LayerCost& first = layers_[at->second];
      first.elements += elements;
      std::erase_if(first.alone, [&](const auto& w) { return layer.alone.count(w.first) == 0; });
    }
  }

  // -- making a model
  QuantizeResult quantized(const Recipe& r) const {
    if (r.mode == Mode::kDynamic) return quantize_dynamic(g_, r, batches_, o_.calibrate);
    if (r.mode == Mode::kWeightOnly) return quantize_weights(g_, r, batches_, o_.calibrate);
    return quantize_static(g_, calibration_for(r), r, batches_, o_.calibrate);
  }

  // Layers that stay float leave parts of what shares a scale in the plan of all: these parts have
  // that scale.
  Calibration calibration_for(const Recipe& r) const {
    const Plan plan = plan_quantization(g_, r);
    Calibration c = seen_;
    c.params.clear();
    for (const auto& [name, sources] : plan.sources) {
      const auto found = seen_.params.find(full_.scale_of[static_cast<size_t>(name)]);
      if (found == seen_.params.end()) return calibrate(g_, batches_, r, o_.calibrate);
      c.params[name] = found->second;
    }
    return c;
  }

  std::map<std::string, Width> all_wide() const {
    std::map<std::string, Width> widths;
    for (const LayerCost& layer : layers_) widths[layer.node] = Width::kF32;
    return widths;
  }

  void step() {
    ++made_;
    if (o_.progress) o_.progress(made_, std::max(made_, expected_));
  }

  // -- what each layer costs
  void measure_alone(const OutputError& error) {
    expected_ = 2 * kSpread;
    for (const LayerCost& layer : layers_) expected_ += static_cast<int64_t>(layer.alone.size());
    for (LayerCost& layer : layers_) {
      std::map<Width, int64_t>& bytes = bytes_.emplace_back();
      for (auto& [width, db] : layer.alone) {
        Recipe r = r_;
        r.bias_correction = r.gptq = false;
        r.widths = all_wide();
        r.widths[layer.node] = width;
        const QuantizeResult made = quantized(r);
        db = error.sqnr_db(made.graph);
        bytes[width] = bytes_of(made);
        step();
      }
    }
  }

  bool saves(double bytes, size_t layer) const {
    return bytes > kLeastSaved * static_cast<double>(layers_[layer].elements);
  }

  // Leaves int4 out where it saves next to nothing of the file: a .wick of a static recipe holds
  // int4 weights as int8.
  void drop_idle_int4() {
    double file = static_cast<double>(make(0).bytes), saved = 0;  // without int4; by int4
    for (size_t i = 0; i < layers_.size(); ++i) {
      int64_t least = make(0).bytes;
      for (const auto& [width, bytes] : bytes_[i])
        least = width == Width::kInt4 ? least : std::min(least, bytes);
      file -= static_cast<double>(make(0).bytes - least);
      const auto found = bytes_[i].find(Width::kInt4);
      if (found == bytes_[i].end()) continue;
      const auto less = static_cast<double>(least - found->second);
      if (saves(less, i)) saved += less;
    }
    if (saved >= kLeastOfFile * file) return;
    for (std::map<Width, int64_t>& bytes : bytes_) bytes.erase(Width::kInt4);
  }

  // Greedy: the next move is the one with the least error for each byte that it saves. The bytes
  // are those of the file, in which a narrow width need not save any.
  void find_way() {
    std::vector<Width> at(layers_.size(), Width::kF32);
    for (std::map<Width, int64_t>& bytes : bytes_) bytes[Width::kF32] = make(0).bytes;
    drop_idle_int4();
    for (;;) {
      Move best;
      double least = INFINITY, most_saved = 0;
      for (size_t i = 0; i < layers_.size(); ++i) {
        const auto cost = [&](Width w) {
          return w == Width::kF32 ? 0 : noise(layers_[i].alone.at(w));
        };
        for (const auto& [width, bytes] : bytes_[i]) {
          if (width >= at[i]) continue;
          const auto saved = static_cast<double>(bytes_[i].at(at[i]) - bytes);
          if (!saves(saved, i)) continue;
          const double price = std::max(0.0, cost(width) - cost(at[i])) / saved;
          if (price > least || (price == least && saved <= most_saved)) continue;
          least = price, most_saved = saved;
          best = {i, width};
        }
      }
      if (most_saved == 0) return;
      at[best.layer] = best.to;
      way_.push_back(best);
    }
  }

  int64_t bytes_of(const QuantizeResult& made) const {
    return o_.bytes ? o_.bytes(made) : constant_bytes(made);
  }

  // -- models along the way
  const MixedPoint& make(int64_t moves) {
    const auto known = points_.find(moves);
    if (known != points_.end()) return known->second;
    Recipe r = r_;
    r.widths = all_wide();
    for (int64_t k = 0; k < moves; ++k) {
      const Move& m = way_[static_cast<size_t>(k)];
      r.widths[layers_[m.layer].node] = m.to;
    }
    const QuantizeResult made = quantized(r);
    MixedPoint p;
    p.widths = r.widths;
    p.bytes = bytes_of(made);
    p.sqnr_db = all_->sqnr_db(made.graph);
    if (o_.score) p.drop = o_.float_score - o_.score(made.graph);
    p.fits = (!budget_.max_bytes || p.bytes <= *budget_.max_bytes) &&
             (!budget_.max_drop || keeps_drop(p));
    step();
    return points_.emplace(moves, std::move(p)).first->second;
  }

  // Makes the models around the place where `early` ends to hold, which it does for the first ones.
  template <class Early>
  void narrow(Early early) {
    int64_t last = -1, first = -1;  // the last that holds, the first behind it that does not
    for (const auto& [moves, p] : points_) {
      if (early(p)) last = moves, first = -1;
      if (!early(p) && first < 0) first = moves;
    }
    while (last >= 0 && first - last > 1) {
      const int64_t middle = last + (first - last) / 2;
      (early(make(middle)) ? last : first) = middle;
    }
  }

  // A drop is a difference of two shares, rounded: one that is the budget to a billionth is within.
  bool keeps_drop(const MixedPoint& p) const { return *p.drop <= *budget_.max_drop + 1e-9; }

  // Returns whether a is the better one to keep.
  bool better(const MixedPoint& a, const MixedPoint& b) const {
    if (a.fits != b.fits) return a.fits;
    const auto loses_less = [](const MixedPoint& x, const MixedPoint& y) {
      if (x.drop != y.drop) return *x.drop < *y.drop;
      return x.sqnr_db != y.sqnr_db ? x.sqnr_db > y.sqnr_db : x.bytes < y.bytes;
    };
    if (a.fits) return budget_.max_bytes ? loses_less(a, b) : a.bytes < b.bytes;
    if (!budget_.max_drop) return a.bytes < b.bytes;
    const bool a_keeps = keeps_drop(a), b_keeps = keeps_drop(b);
    if (a_keeps != b_keeps) return a_keeps;
    return a_keeps ? a.bytes < b.bytes : loses_less(a, b);
  }

  Mixed conclude() {
    Mixed mixed;
    for (auto& [moves, p] : points_) mixed.points.push_back(std::move(p));
    for (size_t i = 1; i < mixed.points.size(); ++i) {
      if (better(mixed.points[i], mixed.points[mixed.best])) mixed.best = i;
    }
    const MixedPoint& best = mixed.points[mixed.best];
    mixed.met = best.fits;
    mixed.recipe = r_;
    mixed.recipe.widths = best.widths;
    mixed.result = quantized(mixed.recipe);
    for (LayerCost& layer : layers_) layer.width = best.widths.at(layer.node);
    mixed.layers = std::move(layers_);
    return mixed;
  }

  const Graph& g_;
  Recipe r_;
  const Batches& batches_;
  const Budget& budget_;
  const MixedOptions& o_;
  Plan full_;         // of a static recipe, with every layer quantized
  Calibration seen_;  // by that plan
  std::optional<OutputError> all_;
  std::vector<LayerCost> layers_;
  std::vector<std::map<Width, int64_t>> bytes_;  // by layer: of the file where it alone is narrow
  std::vector<Move> way_;
  std::map<int64_t, MixedPoint> points_;  // by the number of moves
  int64_t made_ = 0, expected_ = 0;
};

}  // namespace

Mixed quantize_within(const Graph& graph, const Recipe& recipe, const Batches& batches,
                      const Budget& budget, const MixedOptions& options) {
  check(recipe);
  if (recipe.mode == Mode::kQat || recipe.mode == Mode::kF16 || recipe.mode == Mode::kBF16) {
    throw_error("quantize", std::string("a budget is for static, dynamic and weight-only recipes, "
                                        "not ") +
                                mode_name(recipe.mode));
  }
  if (!batches) throw_error("quantize", "a budget needs data to compare outputs on");
  if (budget.max_drop && !options.score)
    throw_error("quantize", "a budget of max_drop needs a score: labelled data");
  return Mixer(graph, recipe, batches, budget, options).run();
}

}  // namespace wick::quantize
