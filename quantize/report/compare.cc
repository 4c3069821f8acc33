#include "quantize/report/compare.h"

#include <algorithm>
#include <cmath>

#include "quantize/report/layers.h"
#include "wick/error.h"

namespace wick::quantize {
namespace {

using ir::Graph;
using ir::kNoValue;
using ir::Node;
using ir::NodeId;
using ir::ValueId;
using Values = std::vector<HostTensor>;  // by ValueId

// About the best that 8 bits can do: a better input counts as this good, so that the very first
// rounding is no growth.
constexpr double kEightBitsDb = 48;

using ir::at;
bool real(const HostTensor& t) { return t.dtype() == DType::kF32 && t.numel() > 0; }

// Runs the graph once and keeps every value.
Values run_whole(const Graph& g, const std::vector<HostTensor>& inputs,
                 ir::InterpreterOptions options) {
  Values values(g.value_count());
  for (size_t i = 0; i < inputs.size(); ++i) values[at(g.inputs()[i])] = inputs[i];
  for (size_t v = 0; v < values.size(); ++v) {
    if (g.is_constant(static_cast<ValueId>(v)))
      values[v] = g.value(static_cast<ValueId>(v)).constant;
  }
  options.after_node = [&](NodeId id, Span<const HostTensor> out) {
    for (size_t k = 0; k < out.size(); ++k) values[at(g.node(id).outputs[k])] = out[k];
  };
  ir::run(g, inputs, options);
  return values;
}

// OutputSums is what is summed up for an output over the batches.
struct OutputSums {
  ErrorSums error;
  Range seen;
  bool any = false;

  void add(const HostTensor& x, const HostTensor& y) {
    error.add_output(x, y);
    for (int64_t i = 0; i < x.numel(); ++i) {
      const float v = x.as<float>()[i];
      if (!std::isfinite(v)) continue;
      seen = any ? Range{std::min(seen.lo, v), std::max(seen.hi, v)} : Range{v, v};
      any = true;
    }
  }
  OutputReport report(const std::string& name) const { return {name, error.numbers(), seen}; }
};

// LayerSums is what is summed up for a layer over the batches.
struct LayerSums {
  size_t layer = 0;
  Layer at;
  ErrorSums own, accumulated, of_weights, of_result, effect;
  bool any = false, has_own = false, has_effect = false;
  double sum = 0, squares = 0, count = 0;
  int64_t outside = 0, rounded = 0;
};

class Comparer {
 public:
  Comparer(const Graph& g, const QuantizeResult& q, const CompareOptions& o)
      : g_(g), q_(q.graph), o_(o), pairs_(pair_graphs(g, q.graph)), axes_(channel_axes(g)) {
    run_.kernels = o.kernels;
    local_.emplace(q_, pairs_, run_);
    for (Layer& layer : find_layers(g, q, pairs_, *local_, &result_.notes)) {
      for (ValueId v : layer.outputs) layer_of_[v] = sums_.size();
      result_.layers.push_back(std::move(layer.report));
      sums_.emplace_back();
      sums_.back().layer = sums_.size() - 1;
      sums_.back().at = std::move(layer);
    }
  }

  Comparison run(const Batches& batches) {
    std::vector<OutputSums> outputs(g_.outputs().size());
    const auto layers = static_cast<int64_t>(sums_.size());
    all_ = layers * (o_.batches + (o_.effects ? 1 : 0));
    for (int64_t i = 0; i < o_.batches; ++i) {
      const std::optional<Batch> batch = batches ? batches(i) : std::nullopt;
      if (!batch) break;
      const std::vector<HostTensor> inputs = graph_inputs(g_, *batch, i);
      floats_ = run_whole(g_, inputs, run_);
      integers_ = run_whole(q_, inputs, run_);
      local_->begin_batch(&floats_);
      for (LayerSums& s : sums_) {
        add(s, i == 0);
        step();
      }
      for (size_t k = 0; k < outputs.size(); ++k) {
        const HostTensor& x = floats_[at(g_.outputs()[k].value)];
        if (real(x)) outputs[k].add(x, integers_[at(q_.outputs()[k].value)]);
      }
      if (i == 0 && o_.effects) effects();
      result_.batches = i + 1;
    }
    if (result_.batches == 0) throw_error("compare", "there is no batch to compare with");
    for (size_t k = 0; k < outputs.size(); ++k)
      result_.outputs.push_back(outputs[k].report(g_.outputs()[k].name));
    for (LayerSums& s : sums_) conclude(s);
    judge();
    return std::move(result_);
  }

 private:
  void step() {
    ++done_;
    if (o_.progress) o_.progress(std::min(done_, all_), all_);
  }

  // -- one batch
  HostTensor rounded(const LayerSums& s, size_t k, const HostTensor& y) const {
    return s.at.rounding[k] ? local_->round(*s.at.rounding[k], y) : y;
  }

  void add(LayerSums& s, bool first) {
    for (size_t k = 0; k < s.at.outputs.size(); ++k) {
      const HostTensor& x = floats_[at(s.at.outputs[k])];
      if (!real(x)) continue;
      see(s, x);
      const ValueId made = pairs_.value[at(s.at.outputs[k])];
      const HostTensor& raw = integers_[at(made)];
      const HostTensor& y =
          s.at.rounding[k] ? integers_[at(q_.node(s.at.rounding[k]->dequantize).outputs[0])] : raw;
      if (!(y.shape() == x.shape())) continue;  // a size that depends on values
      s.accumulated.add(x, y, axes_[at(s.at.outputs[k])], k);
      if (s.at.rounding[k]) count_outside(s, raw, s.at.rounding[k]->params);
    }
    const LayerReport& layer = result_.layers[s.layer];
    if (!layer.quantized && !layer.result) return;
    s.has_own = true;
    if (s.at.moves) return;
    const Values made = own_result(s);
    add_error(s, made, true, &s.own);
    if (!first) return;
    add_error(s, made, false, &s.of_weights);
    add_error(s, float_result(s), true, &s.of_result);
  }

  Values float_result(const LayerSums& s) const {
    Values made;
    for (ValueId v : s.at.outputs) made.push_back(floats_[at(v)]);
    return made;
  }
  Values own_result(const LayerSums& s) {
    return result_.layers[s.layer].quantized ? local_->run(s.at.nodes) : float_result(s);
  }

  void add_error(const LayerSums& s, const Values& made, bool round, ErrorSums* to) const {
    for (size_t k = 0; k < made.size(); ++k) {
      const HostTensor& x = floats_[at(s.at.outputs[k])];
      if (!real(x) || !(made[k].shape() == x.shape())) continue;
      to->add(x, round ? rounded(s, k, made[k]) : made[k], axes_[at(s.at.outputs[k])], k);
    }
  }

  void see(LayerSums& s, const HostTensor& x) {
    Range& seen = result_.layers[s.layer].seen;
    const float* v = x.as<float>();
    for (int64_t i = 0; i < x.numel(); ++i) {
      if (!std::isfinite(v[i])) continue;
      seen = s.any ? Range{std::min(seen.lo, v[i]), std::max(seen.hi, v[i])} : Range{v[i], v[i]};
      s.any = true;
      s.sum += v[i], s.squares += static_cast<double>(v[i]) * v[i];
      ++s.count;
    }
  }

  static void count_outside(LayerSums& s, const HostTensor& x, const QParams& q) {
    const IntegerRange range = integer_range(q.dtype);
    if (!q.per_tensor()) return;
    const auto zero = static_cast<float>(q.zero_point[0]);
    for (int64_t i = 0; i < x.numel(); ++i) {
      const float r = std::nearbyint(x.as<float>()[i] / q.scale[0]) + zero;
      s.outside += r < static_cast<float>(range.lo) || r > static_cast<float>(range.hi) ? 1 : 0;
    }
    s.rounded += x.numel();
  }

  // -- this layer alone, as far as the outputs
  void effects() {
    const ir::GraphOutput* out = nullptr;
    for (const ir::GraphOutput& o : g_.outputs()) {
      if (out == nullptr && real(floats_[at(o.value)])) out = &o;
    }
    for (LayerSums& s : sums_) {
      if (s.has_own && !s.at.moves && out != nullptr) add_effect(s, out->value);
      step();
    }
  }

  void add_effect(LayerSums& s, ValueId out) {
    const Values made = own_result(s);
    std::map<ValueId, HostTensor> changed;
    for (size_t k = 0; k < s.at.outputs.size(); ++k)
      changed[s.at.outputs[k]] = rounded(s, k, made[k]);
    for (size_t i = s.at.nodes.empty() ? 0 : at(s.at.nodes.back()) + 1; i < g_.node_count(); ++i) {
      const Node& n = g_.node(static_cast<NodeId>(i));
      const auto is_changed = [&](ValueId v) { return changed.count(v) != 0; };
      if (n.removed() || std::none_of(n.inputs.begin(), n.inputs.end(), is_changed)) continue;
      std::vector<HostTensor> in;
      for (ValueId v : n.inputs) {
        const auto found = changed.find(v);
        in.push_back(found != changed.end() ? found->second
                     : v == kNoValue        ? HostTensor()
                                            : floats_[at(v)]);
      }
      const Values now = ir::run_any(g_, n, in, run_);
      for (size_t k = 0; k < now.size(); ++k) changed[n.outputs[k]] = now[k];
    }
    const auto found = changed.find(out);
    const HostTensor& x = floats_[at(out)];
    s.has_effect = true;  // the layer is exact if its effect does not arrive
    if (found == changed.end() || !(found->second.shape() == x.shape())) return;
    s.effect.add(x, found->second, axes_[at(out)]);
  }

  // -- the sums as a report
  void conclude(const LayerSums& s) {
    LayerReport& layer = result_.layers[s.layer];
    layer.own = s.own.numbers();
    layer.accumulated = s.accumulated.numbers();
    layer.of_weights = s.of_weights.numbers();
    layer.of_result = s.of_result.numbers();
    if (s.has_effect) layer.effect = s.effect.numbers();
    if (s.count > 0) {
      layer.mean = s.sum / s.count;
      layer.deviation = std::sqrt(std::max(0.0, s.squares / s.count - layer.mean * layer.mean));
    }
    if (s.rounded > 0)
      layer.saturated = static_cast<double>(s.outside) / static_cast<double>(s.rounded);
  }

  void judge() {
    double most = 0;
    // The error that has arrived at each layer: float ops on the way may hide an error (a mask of
    // large numbers does), but they do not remove it.
    std::vector<double> arrived(sums_.size());
    for (const LayerSums& s : sums_) {
      LayerReport& layer = result_.layers[s.layer];
      double before = kEightBitsDb;
      for (ValueId v :
           s.at.nodes.empty() ? std::vector<ValueId>{} : g_.node(s.at.nodes[0]).inputs) {
        const auto from = layer_of_.find(v);
        if (from != layer_of_.end()) before = std::min(before, arrived[from->second]);
      }
      const double now = layer.accumulated.channel_db;
      arrived[s.layer] = s.has_own && !s.at.moves ? now : std::min(before, now);
      if (s.at.moves) continue;  // other channels, but the same numbers
      layer.growth_db = before - std::min(kEightBitsDb, layer.accumulated.channel_db);
      if (!s.has_own || layer.own.exact()) continue;
      result_.by_sensitivity.push_back(s.layer);
      if (layer.growth_db > most) most = layer.growth_db, result_.first_growth = s.layer;
    }
    const auto quality = [&](size_t i) {
      const LayerReport& layer = result_.layers[i];
      return layer.effect ? layer.effect->channel_db : layer.own.channel_db;
    };
    std::stable_sort(result_.by_sensitivity.begin(), result_.by_sensitivity.end(),
                     [&](size_t a, size_t b) { return quality(a) < quality(b); });
  }

  const Graph &g_, &q_;
  const CompareOptions& o_;
  const Pairs pairs_;
  const std::vector<int> axes_;
  ir::InterpreterOptions run_;
  std::optional<LocalRun> local_;
  std::map<ValueId, size_t> layer_of_;
  std::vector<LayerSums> sums_;
  Values floats_, integers_;
  int64_t done_ = 0, all_ = 0;
  Comparison result_;
};

}  // namespace

std::string LayerReport::cause() const {
  if (own.exact() || (of_weights.exact() && of_result.exact())) return "";
  return of_weights.channel_db <= of_result.channel_db ? "weights" : "result";
}

Comparison compare(const Graph& graph, const QuantizeResult& quantized, const Batches& batches,
                   const CompareOptions& options) {
  return Comparer(graph, quantized, options).run(batches);
}

std::vector<OutputReport> compare_outputs(const Graph& graph, const Graph& other,
                                          const Batches& batches, const CompareOptions& options) {
  if (graph.outputs().size() != other.outputs().size() ||
      graph.inputs().size() != other.inputs().size())
    throw_error("compare", "the two graphs have other inputs or outputs: they are of two models");
  ir::InterpreterOptions run;
  run.kernels = options.kernels;
  std::vector<OutputSums> sums(graph.outputs().size());
  int64_t done = 0;
  for (; done < options.batches; ++done) {
    const std::optional<Batch> batch = batches ? batches(done) : std::nullopt;
    if (!batch) break;
    const std::vector<HostTensor> inputs = graph_inputs(graph, *batch, done);
    const Values x = ir::run(graph, inputs, run), y = ir::run(other, inputs, run);
    for (size_t k = 0; k < x.size(); ++k) {
      if (real(x[k])) sums[k].add(x[k], y[k]);
    }
  }
  if (done == 0) throw_error("compare", "there is no batch to compare with");
  std::vector<OutputReport> reports;
  for (size_t k = 0; k < sums.size(); ++k)
    reports.push_back(sums[k].report(graph.outputs()[k].name));
  return reports;
}

}  // namespace wick::quantize
