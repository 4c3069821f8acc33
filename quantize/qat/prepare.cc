#include "quantize/qat/prepare.h"

#include <cmath>
#include <limits>
#include <map>
#include <set>

#include "graph/ir/infer.h"
#include "graph/rewrite/pass.h"
#include "quantize/passes/op_parts.h"
#include "quantize/passes/passes.h"
#include "quantize/passes/plan.h"
#include "quantize/qparams.h"
#include "runtime/ops/attrs.h"
#include "wick/error.h"

namespace wick::quantize {
namespace {

using ir::Graph;
using ir::kNoValue;
using ir::Node;
using ir::NodeId;
using ir::ValueId;

constexpr float kLeastGamma = 1e-6F;

HostTensor number(float v) { return HostTensor::of<float>({}, {v}); }
HostTensor filled(const Shape& shape, float v) {
  return HostTensor::of<float>(shape, std::vector<float>(static_cast<size_t>(numel(shape)), v));
}

class Preparer {
 public:
  Preparer(const Graph& graph, const Recipe& recipe, bool learn_scales)
      : graph_(graph), g_(graph), recipe_(recipe), learned_(learn_scales ? 1 : 0) {
    for (size_t v = 0; v < g_.value_count(); ++v) {
      const auto id = static_cast<ValueId>(v);
      if (!g_.value(id).name.empty()) names_.insert(g_.value(id).name);
    }
  }

  Graph run() {
    const Plan plan = plan_folded();
    for (const auto& [norm, layer] : folds_) fold(layer, norm);
    const size_t values = plan.scale_of.size(), nodes = plan.nodes.size();
    for (bool own : {true, false}) {
      for (size_t v = 0; v < values; ++v) {
        const ValueId like = plan.scale_of[v];
        if (like == kNoValue) continue;
        const auto id = static_cast<ValueId>(v);
        if (is_source(plan, id) == own) round_value(id, like, plan);
      }
    }
    bool any = false;
    for (size_t k = 0; k < nodes; ++k) {
      const auto id = static_cast<NodeId>(k);
      const Part part = plan.nodes[k].part;
      if (part == Part::kFloat || part == Part::kAbsorbed) continue;
      read_rounded(id);
      any = any || part == Part::kLayer;
      if (part == Part::kLayer) round_layer(id);
    }
    if (!any) {
      std::string why;
      for (const Unquantized& u : plan.stayed(graph_))
        why += "\n  " + u.op + " " + u.node + ": " + u.reason;
      throw_error("prepare_qat", "the graph has no Conv, Linear or MatMul to quantize" +
                                     (why.empty() ? why : "; these stay float:" + why));
    }
    g_.sort_nodes();
    g_.compact();
    g_.metadata["quantization"] = "qat";
    ir::verify(g_, "after prepare_qat");
    return std::move(g_);
  }

 private:
  // -- batch norms go into the layer before them
  // What is quantized is decided on the graph as it will be deployed: without those batch norms.
  // Ids are those of this graph; the layer's output represents the batch norm's.
  Plan plan_folded() {
    Graph deployed = graph_;
    const auto users = g_.users();
    for (size_t k = 0; k < g_.node_count(); ++k) {
      const auto id = static_cast<NodeId>(k);
      const NodeId layer = layer_before(id, users);
      if (layer < 0) continue;
      folds_.emplace_back(id, layer);
      const Node& norm = g_.node(id);
      deployed.replace_all(norm.outputs[0], norm.inputs[0]);
      deployed.remove_node(id);
      behind_[norm.inputs[0]] = norm.outputs[0];
    }
    deployed_ = deployed;
    return plan_quantization(deployed, recipe_);
  }

  NodeId layer_before(NodeId id, const std::vector<std::vector<NodeId>>& users) const {
    const Node& norm = g_.node(id);
    if (norm.op != OpId::kBatchNorm || g_.value(norm.inputs[0]).dtype != DType::kF32) return -1;
    const ir::Value& y = g_.value(norm.inputs[0]);
    if (y.producer < 0 || users[static_cast<size_t>(norm.inputs[0])].size() != 1 ||
        g_.is_output(norm.inputs[0]) || !y.ranked) {
      return -1;
    }
    for (size_t i = 1; i < 5; ++i) {
      if (!g_.is_constant(norm.inputs[i])) return -1;
    }
    const Node& layer = g_.node(y.producer);
    // A Linear has its channels last; a batch norm reads them as dim 1.
    const bool linear = layer.op == OpId::kLinear && y.shape.rank() == 2;
    if ((layer.op != OpId::kConv && !linear) || !g_.is_constant(layer.inputs[1])) return -1;
    const bool bias = layer.inputs.size() > 2 && layer.inputs[2] != kNoValue;
    return bias && !g_.is_constant(layer.inputs[2]) ? -1 : y.producer;
  }

  void fold(NodeId layer_id, NodeId norm_id) {
    const std::vector<ValueId> s = g_.node(norm_id).inputs;  // y, gamma, beta, mean, var
    const double eps = g_.node(norm_id).attrs.as<BatchNormAttrs>().epsilon;
    away_from_zero(s[1]);
    const ValueId w = g_.node(layer_id).inputs[1];
    const ValueId bias =
        g_.node(layer_id).inputs.size() > 2 ? g_.node(layer_id).inputs[2] : kNoValue;
    const std::string base = name_of(w);
    const ValueId spread =
        g_.emit(OpId::kSqrt,
                {g_.emit(OpId::kAdd, {s[4], g_.add_constant(number(static_cast<float>(eps)))})});
    const ValueId factor = g_.emit(OpId::kDiv, {s[1], spread}, base + "_factor");
    ReshapeAttrs channels;
    channels.shape = {-1};
    for (int d = 1; d < g_.value(w).shape.rank(); ++d)
      channels.shape.values[channels.shape.count++] = 1;
    const ValueId folded =
        g_.emit(OpId::kMul, {w, g_.emit(OpId::kReshape, channels, {factor})}, base + "_folded");
    g_.value(folded).name = unused(base + "_folded");
    ValueId mean = s[3];
    if (bias != kNoValue) mean = g_.emit(OpId::kSub, {mean, bias});
    const ValueId shift = g_.emit(OpId::kSub, {s[2], g_.emit(OpId::kMul, {mean, factor})});
    g_.value(shift).name = unused(base + "_shift");
    g_.node(layer_id).inputs = {g_.node(layer_id).inputs[0], folded};
    Node& norm = g_.node(norm_id);
    norm.op = OpId::kFoldedBatchNorm;
    norm.inputs = {s[0], shift, s[1], s[2], s[3], s[4]};
    if (bias != kNoValue) norm.inputs.push_back(bias);
  }

  void away_from_zero(ValueId gamma) {
    HostTensor t = g_.value(gamma).constant;
    std::vector<float> v(t.as<float>(), t.as<float>() + t.numel());
    for (float& x : v) {
      if (std::fabs(x) < kLeastGamma) x = std::signbit(x) ? -kLeastGamma : kLeastGamma;
    }
    g_.value(gamma).constant = HostTensor::of<float>(t.shape(), v);
  }

  // -- names
  std::string name_of(ValueId v) const {
    const ir::Value& value = g_.value(v);
    if (!value.name.empty()) return value.name;
    if (value.producer < 0) return "constant" + std::to_string(v);
    const Node& n = g_.node(value.producer);
    if (!n.name.empty()) return n.name;
    const OpInfo* info = find_op(n.op);
    const std::string op = info == nullptr ? "node" : info->name;
    return (n.module.empty() ? op : n.module + "." + op) + std::to_string(v);
  }
  std::string unused(std::string name) {
    while (!names_.insert(name).second) name += "_";
    return name;
  }
  ValueId state(const std::string& base, const char* what, HostTensor t) {
    return g_.add_constant(std::move(t), unused(base + what), true);
  }

  // -- rounding
  struct Scales {
    ValueId scale, zero_point;
    FakeQuantizeAttrs attrs;
  };
  FakeQuantizeAttrs attrs_of(DType dtype, int64_t axis) const {
    const IntegerRange r = integer_range(dtype);
    return {axis < 0 ? 0 : axis, r.lo, r.hi, learned_, 0};
  }
  // Adds a FakeQuantize whose observer has seen nothing. count 0: one scale.
  ValueId fake(ValueId x, const std::string& base, DType dtype, int64_t axis, int64_t count,
               Scales* out) {
    const Shape each = count == 0 ? Shape{} : Shape{count};
    out->attrs = attrs_of(dtype, axis);
    out->scale = state(base, "_scale", filled(each, 1));
    out->zero_point = state(base, "_zero_point", filled(each, 0));
    const float inf = std::numeric_limits<float>::infinity();
    std::vector<float> none(static_cast<size_t>(count == 0 ? 1 : count), inf);
    none.resize(2 * none.size(), -inf);
    const ValueId range =
        state(base, "_range", HostTensor::of<float>(count == 0 ? Shape{2} : Shape{2, count}, none));
    return g_.emit(OpId::kFakeQuantize, out->attrs, {x, out->scale, out->zero_point, range},
                   base + "_fake_quantize");
  }

  static bool is_source(const Plan& plan, ValueId v) {
    const auto at = plan.sources.find(plan.scale_of[static_cast<size_t>(v)]);
    return at != plan.sources.end() && at->second.front() == v;
  }
  // Values that share a scale are rounded by the scale of the one that is observed.
  void round_value(ValueId planned, ValueId like, const Plan& plan) {
    const auto folded = behind_.find(planned);
    const ValueId v = folded == behind_.end() ? planned : folded->second;
    ValueId made;
    if (scales_.count(like) == 0) {
      made = fake(v, name_of(v), recipe_.activation, -1, 0, &scales_[like]);
    } else {
      const Scales& s = scales_[like];
      made = g_.emit(OpId::kFakeQuantize, s.attrs, {v, s.scale, s.zero_point},
                     name_of(v) + "_fake_quantize");
    }
    rounded_[v] = made;
    scale_of_[made] = scales_[like].scale;
    if (!plan.integers_only[static_cast<size_t>(planned)]) return;
    const NodeId id = g_.value(made).producer;
    g_.replace_all(v, made);
    g_.node(id).inputs[0] = v;
  }

  // Makes a quantized node read rounded values, its constants too; the weight comes later.
  void read_rounded(NodeId id) {
    const OpPart part = op_part(deployed_, deployed_.node(id));
    for (size_t i : part.data) {
      const ValueId v = g_.node(id).inputs[i];
      if (rounded_.count(v) != 0) {
        g_.node(id).inputs[i] = rounded_[v];
      } else if (g_.is_constant(v) && !(part.part == Part::kLayer && i == 1)) {
        if (operands_.count(v) == 0) {
          Scales s;
          operands_[v] = fake(v, name_of(v) + "_operand", recipe_.activation, -1, 0, &s);
          scale_of_[operands_[v]] = s.scale;
        }
        g_.node(id).inputs[i] = operands_[v];
      }
    }
  }

  void round_layer(NodeId id) {
    const ValueId x = g_.node(id).inputs[0], w = g_.node(id).inputs[1];
    if (scale_of_.count(w) != 0) return;  // a product of two activations
    const auto shape = g_.value(w).shape;
    // A matrix behind MatMul has become a Linear's by now.
    const int64_t axis = g_.node(id).op != OpId::kMatMul && recipe_.per_channel ? 0 : -1;
    const int64_t count = axis < 0 ? 0 : shape[static_cast<int>(axis)].constant();
    const auto key = std::make_pair(w, axis);
    if (weights_.count(key) == 0) {
      Scales s;
      const ValueId made = fake(w, name_of(w), recipe_.weight, axis, count, &s);
      weights_[key] = {made, s};
    }
    const auto& [made, s] = weights_[key];
    g_.node(id).inputs[1] = made;
    // A folded batch norm adds the bias, if there is one.
    NodeId adds = g_.node(id).inputs.size() > 2 && g_.node(id).inputs[2] != kNoValue ? id : -1;
    size_t input = 2;
    for (const auto& [norm, layer] : folds_) {
      if (layer == id) adds = norm, input = 1;
    }
    if (adds < 0) return;
    const ValueId bias = g_.node(adds).inputs[input];
    const ValueId step = g_.emit(OpId::kMul, {scale_of_.at(x), s.scale});
    const ValueId zero = g_.add_constant(filled(count == 0 ? Shape{} : Shape{count}, 0));
    FakeQuantizeAttrs a = attrs_of(DType::kI32, 0);
    a.learned = 0;
    g_.node(adds).inputs[input] =
        g_.emit(OpId::kFakeQuantize, a, {bias, step, zero}, name_of(bias) + "_fake_quantize");
  }

  const Graph& graph_;
  Graph g_;
  const Recipe& recipe_;
  int64_t learned_;
  std::set<std::string> names_;
  Graph deployed_;
  std::vector<std::pair<NodeId, NodeId>> folds_;  // a batch norm, and the layer that absorbs it
  std::map<ValueId, ValueId> behind_;             // the batch norm's output by the layer's
  std::map<ValueId, Scales> scales_;              // by the value that represents them in the plan
  std::map<ValueId, ValueId> rounded_;
  std::map<ValueId, ValueId> scale_of_;  // by the output of a FakeQuantize
  std::map<ValueId, ValueId> operands_;
  std::map<std::pair<ValueId, int64_t>, std::pair<ValueId, Scales>> weights_;
};

}  // namespace

Recipe qat_recipe() {
  Recipe r;
  r.mode = Mode::kQat;
  r.activation_observer.kind = ObserverKind::kMovingAverage;
  return r;
}

Graph prepare_qat(const Graph& graph, const Recipe& recipe, bool learn_scales) {
  for (const Node& n : graph.nodes()) {
    if (n.op == OpId::kFakeQuantize)
      throw_error("prepare_qat", "the graph is prepared already: it has FakeQuantize nodes");
  }
  if (recipe.weight == DType::kU4 || !recipe.weight_symmetric)
    throw_error("prepare_qat", "weights are trained symmetric: int8 or int4");
  const ObserverKind kind = recipe.activation_observer.kind;
  if (kind != ObserverKind::kMinMax && kind != ObserverKind::kMovingAverage) {
    throw_error("prepare_qat", std::string("in training activations are observed by min-max or "
                                           "moving-average, not ") +
                                   observer_name(kind));
  }
  ir::Graph g = graph;
  matmul_to_linear(g);
  return Preparer(g, recipe, learn_scales).run();
}

}  // namespace wick::quantize
