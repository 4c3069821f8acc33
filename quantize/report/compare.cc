#include "quantize/report/compare.h"

#include <algorithm>
#include <cmath>

#include "quantize/report/local_run.h"
#include "runtime/registry/registry.h"
#include "wick/error.h"

namespace wick::quantize {
namespace {

using ir::Graph;
using ir::kNoValue;
using ir::Node;
using ir::NodeId;
using ir::ValueId;
using Values = std::vector<HostTensor>;  // by ValueId

// What 8 bits can hold at best, about: an input that is better counts as this good, so that the
// first rounding of all is no growth.
constexpr double kEightBitsDb = 48;

size_t at(int32_t id) { return static_cast<size_t>(id); }
bool real(const HostTensor& t) { return t.dtype() == DType::kF32 && t.numel() > 0; }

// One run, every value kept.
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

// The axis of a value's channels: 1 of what comes from convolutions and their like, else the last.
std::vector<int> channel_axes(const Graph& g) {
  std::vector<int> axes(g.value_count(), -1);
  for (size_t v = 0; v < axes.size(); ++v) {
    const ir::Value& value = g.value(static_cast<ValueId>(v));
    if (value.ranked && value.shape.rank() > 1)
      axes[v] = value.shape.rank() > 3 ? 1 : value.shape.rank() - 1;
  }
  for (const Node& n : g.nodes()) {
    if (n.removed() || n.inputs.empty() || n.inputs[0] == kNoValue) continue;
    const ir::Value &x = g.value(n.inputs[0]), &y = g.value(n.outputs[0]);
    if (!x.ranked || !y.ranked || y.shape.rank() < 2) continue;
    const bool moves = n.op == OpId::kTranspose || n.op == OpId::kReshape;
    if (n.op == OpId::kConv || n.op == OpId::kConvTranspose) {
      axes[at(n.outputs[0])] = 1;
    } else if (!moves && n.op != OpId::kLinear && n.op != OpId::kMatMul &&
               x.shape.rank() == y.shape.rank()) {
      for (ValueId v : n.outputs) axes[at(v)] = axes[at(n.inputs[0])];
    }
  }
  return axes;
}

// What is summed up for a layer over the batches.
struct LayerSums {
  size_t layer = 0;
  NodeId node = -1;  // of the float graph; -1: an input
  std::vector<ValueId> outputs;
  std::vector<std::optional<Rounding>> rounding;  // of each output
  ErrorSums own, accumulated, of_weights, of_input, of_result, effect;
  bool any = false, has_own = false, has_effect = false;
  double sum = 0, squares = 0, count = 0;
  int64_t outside = 0, rounded = 0;
};

class Comparer {
 public:
  Comparer(const Graph& g, const QuantizeResult& q, const CompareOptions& o)
      : g_(g),
        q_(q.graph),
        o_(o),
        pairs_(pair_graphs(g, q.graph)),
        users_(q.graph.users()),
        axes_(channel_axes(g)) {
    run_.kernels = o.kernels;
    local_.emplace(g_, q_, pairs_, run_);
    for (const Unquantized& u : q.stayed) reasons_[u.id] = u.reason;
    find_layers();
  }

  Comparison run(const Batches& batches) {
    std::vector<ErrorSums> outputs(g_.outputs().size());
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
        if (real(x)) outputs[k].add(x, integers_[at(q_.outputs()[k].value)], -1);
      }
      if (i == 0 && o_.effects) effects();
      result_.batches = i + 1;
    }
    if (result_.batches == 0) throw_error("compare", "there is no batch to compare with");
    for (size_t k = 0; k < outputs.size(); ++k)
      result_.outputs.push_back({g_.outputs()[k].name, outputs[k].numbers()});
    for (LayerSums& s : sums_) conclude(s);
    judge();
    return std::move(result_);
  }

 private:
  void step() {
    ++done_;
    if (o_.progress) o_.progress(std::min(done_, all_), all_);
  }

  // -- which layers there are
  void find_layers() {
    for (ValueId v : g_.inputs()) {
      if (g_.value(v).dtype != DType::kF32) continue;
      LayerReport layer;
      layer.node = g_.value(v).name;
      layer.op = "input";
      add_layer(std::move(layer), -1, {v});
    }
    for (size_t i = 0; i < g_.node_count(); ++i) {
      const auto id = static_cast<NodeId>(i);
      const Node& n = g_.node(id);
      if (n.removed()) continue;
      const auto is_real = [&](ValueId v) { return g_.value(v).dtype == DType::kF32; };
      if (std::none_of(n.outputs.begin(), n.outputs.end(), is_real)) continue;
      LayerReport layer;
      layer.node = display_name(g_, id);
      const OpInfo* info = is_custom(n.op) ? nullptr : op_info(n.op);
      layer.op = info == nullptr ? "custom" : info->name;
      layer.module = n.module;
      if (pairs_.node[i] < 0) {
        result_.notes.push_back(layer.node + ": no node of the quantized graph stands for it");
        continue;
      }
      add_layer(std::move(layer), id, n.outputs);
    }
  }

  void add_layer(LayerReport layer, NodeId id, const std::vector<ValueId>& outputs) {
    LayerSums s;
    s.layer = result_.layers.size();
    s.node = id;
    s.outputs = outputs;
    for (ValueId v : outputs) s.rounding.push_back(rounding_of(q_, users_, pairs_.value[at(v)]));
    layer.quantized = computes_with_integers(s);
    if (const auto why = reasons_.find(id); id >= 0 && why != reasons_.end()) {
      layer.reason = why->second;
      layer.quantized = false;
    }
    if (s.rounding[0]) {
      const QParams& q = s.rounding[0]->params;
      const IntegerRange range = integer_range(q.dtype);
      layer.result = q;
      const auto of = [&](int32_t i) {
        return static_cast<float>(i - q.zero_point[0]) * q.scale[0];
      };
      layer.representable = {of(range.lo), of(range.hi)};
    }
    if (id >= 0) layer.weight = weight(id);
    for (ValueId v : outputs) layer_of_[v] = s.layer;
    result_.layers.push_back(std::move(layer));
    sums_.push_back(std::move(s));
  }

  bool dequantized(ValueId v) const {
    return v != kNoValue && q_.value(v).origin == ir::ValueOrigin::kNode &&
           q_.node(q_.value(v).producer).op == OpId::kDequantizeLinear;
  }

  bool computes_with_integers(const LayerSums& s) const {
    if (s.rounding[0]) return true;
    if (s.node < 0) return false;
    const Node& n = q_.node(pairs_.node[at(s.node)]);
    if (n.op != g_.node(s.node).op) return true;
    return std::any_of(n.inputs.begin(), n.inputs.end(), [&](ValueId v) { return dequantized(v); });
  }

  std::optional<WeightReport> weight(NodeId id) {
    const Node &from = g_.node(id), &to = q_.node(pairs_.node[at(id)]);
    if (to.inputs.size() < 2 || from.inputs.size() < 2 || !g_.is_constant(from.inputs[1]))
      return std::nullopt;
    const HostTensor& w = g_.value(from.inputs[1]).constant;
    HostTensor bytes, scale, reals;
    if (dequantized(to.inputs[1]) && local_->fixed(to.inputs[1])) {
      const Node& n = q_.node(q_.value(to.inputs[1]).producer);
      if (!q_.is_constant(n.inputs[0]) || !q_.is_constant(n.inputs[1])) return std::nullopt;
      bytes = q_.value(n.inputs[0]).constant;
      scale = q_.value(n.inputs[1]).constant;
      reals = local_->value(to.inputs[1]);
    } else if (to.op == OpId::kDynamicLinear && q_.is_constant(to.inputs[1])) {
      const auto params = constant_params(q_, to, 2, to.inputs.size(), 0, DType::kI8);
      if (!params) return std::nullopt;
      bytes = q_.value(to.inputs[1]).constant;
      scale = q_.value(to.inputs[2]).constant;
      reals = to_reals(bytes, *params);
    }
    if (!real(w) || !(reals.shape() == w.shape())) return std::nullopt;
    WeightReport r;
    r.dtype = bytes.dtype();
    r.scales = scale.numel();
    for (int64_t i = 0; i < scale.numel(); ++i) {
      const auto s = static_cast<float>(element_as_double(scale, i));
      r.least = i == 0 ? s : std::min(r.least, s);
      r.most = std::max(r.most, s);
    }
    ErrorSums e;
    e.add(w, reals, w.shape().rank() > 1 ? 0 : -1);
    r.sqnr_db = e.numbers().sqnr_db;
    r.channel_db = e.numbers().channel_db;
    return r;
  }

  // -- one batch
  HostTensor rounded(const LayerSums& s, size_t k, const HostTensor& y) const {
    return s.rounding[k] ? local_->round(*s.rounding[k], y) : y;
  }

  void add(LayerSums& s, bool first) {
    for (size_t k = 0; k < s.outputs.size(); ++k) {
      const HostTensor& x = floats_[at(s.outputs[k])];
      if (!real(x)) continue;
      see(s, x);
      const ValueId made = pairs_.value[at(s.outputs[k])];
      const HostTensor& raw = integers_[at(made)];
      const HostTensor& y = s.rounding[k] && result_.layers[s.layer].result
                                ? integers_[at(q_.node(s.rounding[k]->dequantize).outputs[0])]
                                : raw;
      if (!(y.shape() == x.shape())) continue;  // a size that depends on numbers
      s.accumulated.add(x, y, axes_[at(s.outputs[k])]);
      if (s.rounding[k]) count_outside(s, raw, s.rounding[k]->params);
    }
    const LayerReport& layer = result_.layers[s.layer];
    if (!layer.quantized && !layer.result) return;
    s.has_own = true;
    add_own(s, layer.quantized, LocalRun::Rounded::kAll, true, &s.own);
    if (!first) return;
    if (layer.quantized && s.node >= 0) {
      add_own(s, true, LocalRun::Rounded::kWeights, false, &s.of_weights);
      add_own(s, true, LocalRun::Rounded::kInput, false, &s.of_input);
    }
    add_own(s, false, LocalRun::Rounded::kAll, true, &s.of_result);
  }

  // runs: the node itself; else its float result stands.
  void add_own(LayerSums& s, bool runs, LocalRun::Rounded what, bool result, ErrorSums* to) {
    Values made;
    if (runs && s.node >= 0) {
      made = local_->run(s.node, what);
    } else {
      for (ValueId v : s.outputs) made.push_back(floats_[at(v)]);
    }
    for (size_t k = 0; k < made.size(); ++k) {
      const HostTensor& x = floats_[at(s.outputs[k])];
      if (!real(x) || !(made[k].shape() == x.shape())) continue;
      to->add(x, result ? rounded(s, k, made[k]) : made[k], axes_[at(s.outputs[k])]);
    }
  }

  void see(LayerSums& s, const HostTensor& x) {
    Range& seen = result_.layers[s.layer].seen;
    const float* v = x.as<float>();
    const auto [lo, hi] = std::minmax_element(v, v + x.numel());
    seen = s.any ? Range{std::min(seen.lo, *lo), std::max(seen.hi, *hi)} : Range{*lo, *hi};
    s.any = true;
    for (int64_t i = 0; i < x.numel(); ++i)
      s.sum += v[i], s.squares += static_cast<double>(v[i]) * v[i];
    s.count += static_cast<double>(x.numel());
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
      if (s.has_own && out != nullptr) add_effect(s, out->value);
      step();
    }
  }

  void add_effect(LayerSums& s, ValueId out) {
    Values made;
    if (result_.layers[s.layer].quantized && s.node >= 0)
      made = local_->run(s.node, LocalRun::Rounded::kAll);
    std::map<ValueId, HostTensor> changed;
    for (size_t k = 0; k < s.outputs.size(); ++k)
      changed[s.outputs[k]] = rounded(s, k, made.empty() ? floats_[at(s.outputs[k])] : made[k]);
    for (size_t i = s.node < 0 ? 0 : at(s.node) + 1; i < g_.node_count(); ++i) {
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
      const Values now = ir::run_any(n, in, run_);
      for (size_t k = 0; k < now.size(); ++k) changed[n.outputs[k]] = now[k];
    }
    const auto found = changed.find(out);
    const HostTensor& x = floats_[at(out)];
    s.has_effect = true;  // exact where nothing of it arrives
    if (found == changed.end() || !(found->second.shape() == x.shape())) return;
    s.effect.add(x, found->second, axes_[at(out)]);
  }

  // -- the sums as a report
  void conclude(const LayerSums& s) {
    LayerReport& layer = result_.layers[s.layer];
    layer.own = s.own.numbers();
    layer.accumulated = s.accumulated.numbers();
    layer.of_weights = s.of_weights.numbers();
    layer.of_input = s.of_input.numbers();
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
    for (const LayerSums& s : sums_) {
      LayerReport& layer = result_.layers[s.layer];
      double before = kEightBitsDb;
      for (ValueId v : s.node < 0 ? std::vector<ValueId>{} : g_.node(s.node).inputs) {
        const auto from = layer_of_.find(v);
        if (from != layer_of_.end())
          before = std::min(before, result_.layers[from->second].accumulated.channel_db);
      }
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
  const std::vector<std::vector<NodeId>> users_;
  const std::vector<int> axes_;
  ir::InterpreterOptions run_;
  std::optional<LocalRun> local_;
  std::map<NodeId, std::string> reasons_;
  std::map<ValueId, size_t> layer_of_;
  std::vector<LayerSums> sums_;
  Values floats_, integers_;
  int64_t done_ = 0, all_ = 0;
  Comparison result_;
};

}  // namespace

std::string LayerReport::cause() const {
  if (own.exact()) return "";
  const double least = std::min({of_weights.channel_db, of_input.channel_db, of_result.channel_db});
  if (least >= kExactDb) return "";
  return least == of_weights.channel_db ? "its weights"
         : least == of_input.channel_db ? "its input"
                                        : "its result";
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
  std::vector<ErrorSums> sums(graph.outputs().size());
  int64_t done = 0;
  for (; done < options.batches; ++done) {
    const std::optional<Batch> batch = batches ? batches(done) : std::nullopt;
    if (!batch) break;
    const std::vector<HostTensor> inputs = graph_inputs(graph, *batch, done);
    const Values x = ir::run(graph, inputs, run), y = ir::run(other, inputs, run);
    for (size_t k = 0; k < x.size(); ++k) {
      if (real(x[k])) sums[k].add(x[k], y[k], -1);
    }
  }
  if (done == 0) throw_error("compare", "there is no batch to compare with");
  std::vector<OutputReport> reports;
  for (size_t k = 0; k < sums.size(); ++k)
    reports.push_back({graph.outputs()[k].name, sums[k].numbers()});
  return reports;
}

}  // namespace wick::quantize
