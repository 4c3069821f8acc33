#include "quantize/report/layers.h"

#include <algorithm>

#include "runtime/registry/registry.h"

namespace wick::quantize {
namespace {

using ir::Graph;
using ir::kNoValue;
using ir::Node;
using ir::NodeId;
using ir::ValueId;

using ir::at;

std::string op_text(const Node& n) {
  const OpInfo* info = is_custom(n.op) ? nullptr : op_info(n.op);
  return info == nullptr ? "custom" : info->name;
}

class Finder {
 public:
  Finder(const Graph& g, const QuantizeResult& q, const Pairs& pairs, LocalRun& local,
         std::vector<std::string>* notes)
      : g_(g),
        q_(q.graph),
        pairs_(pairs),
        local_(local),
        notes_(notes),
        float_users_(g.users()),
        users_(q.graph.users()) {
    for (const Unquantized& u : q.stayed) reasons_[u.id] = u.reason;
    stands_.resize(q.graph.node_count(), false);
    for (NodeId id : pairs.node) {
      if (id >= 0) stands_[at(id)] = true;
    }
  }

  std::vector<Layer> run() {
    for (ValueId v : g_.inputs()) {
      if (g_.value(v).dtype == DType::kF32) add({}, {v}, g_.value(v).name, "input");
    }
    std::vector<bool> done(g_.node_count(), false);
    for (size_t i = 0; i < g_.node_count(); ++i) {
      const auto id = static_cast<NodeId>(i);
      const Node& n = g_.node(id);
      if (n.removed() || done[i]) continue;
      const auto is_real = [&](ValueId v) { return g_.value(v).dtype == DType::kF32; };
      if (std::none_of(n.outputs.begin(), n.outputs.end(), is_real)) continue;
      const std::string name = display_name(g_, id);
      if (pairs_.node[i] < 0) {
        notes_->push_back(name + ": no node of the quantized graph stands for it");
        continue;
      }
      const NodeId behind = activation_in(id);
      if (behind < 0) {
        add({id}, n.outputs, name, op_text(n));
      } else {
        done[at(behind)] = true;
        const Node& last = g_.node(behind);
        add({id, behind}, last.outputs, name, op_text(n) + " + " + op_text(last));
      }
    }
    return std::move(layers_);
  }

 private:
  // Returns the Relu or Clip behind a quantized node with no rounding in between; -1: there is
  // none.
  NodeId activation_in(NodeId id) const {
    const Node &from = g_.node(id), &to = q_.node(pairs_.node[at(id)]);
    if (from.outputs.size() != 1 || float_users_[at(from.outputs[0])].size() != 1) return -1;
    if (!reads_integers(to) || reasons_.count(id) != 0) return -1;
    const NodeId next = float_users_[at(from.outputs[0])][0], made = pairs_.node[at(next)];
    const OpId op = g_.node(next).op;
    if (made < 0 || (op != OpId::kRelu && op != OpId::kClip)) return -1;
    if (g_.is_output(from.outputs[0]) || q_.node(made).inputs[0] != to.outputs[0]) return -1;
    return rounding_of(q_, users_, q_.node(made).outputs[0]) ? next : -1;
  }

  void add(const std::vector<NodeId>& nodes, const std::vector<ValueId>& outputs,
           const std::string& name, const std::string& op) {
    Layer l;
    LayerReport& report = l.report;
    l.nodes = nodes;
    l.outputs = outputs;
    for (ValueId v : outputs) l.rounding.push_back(rounding_of(q_, users_, pairs_.value[at(v)]));
    report.node = name;
    report.op = op;
    report.quantized = computes_with_integers(l);
    for (NodeId id : nodes) {
      report.module = g_.node(id).module;
      const auto why = reasons_.find(id);
      if (why == reasons_.end()) continue;
      report.reason = why->second;
      report.quantized = false;
    }
    if (l.rounding[0] && l.rounding[0]->params.per_tensor()) {
      const QParams& q = l.rounding[0]->params;
      const IntegerRange range = integer_range(q.dtype);
      report.result = q;
      const auto of = [&](int32_t i) {
        return static_cast<float>(i - q.zero_point[0]) * q.scale[0];
      };
      report.representable = {of(range.lo), of(range.hi)};
      l.moves = keeps_integers(nodes, q);
    }
    if (!nodes.empty()) report.weight = weight(nodes[0]);
    layers_.push_back(std::move(l));
  }

  bool dequantized(ValueId v) const {
    return v != kNoValue && q_.value(v).origin == ir::ValueOrigin::kNode &&
           q_.node(q_.value(v).producer).op == OpId::kDequantizeLinear;
  }

  // Returns whether the node itself reads integers, rather than a counterpart that gathered them:
  // rows of a table.
  bool reads_integers(const Node& n) const {
    return std::any_of(n.inputs.begin(), n.inputs.end(), [&](ValueId v) {
      return dequantized(v) && !stands_[at(q_.value(v).producer)];
    });
  }

  bool computes_with_integers(const Layer& l) const {
    if (l.nodes.empty()) return false;
    const Node& n = q_.node(pairs_.node[at(l.nodes[0])]);
    return l.rounding[0] || n.op != g_.node(l.nodes[0]).op || reads_integers(n);
  }

  // Returns whether the nodes move or pick elements whose scale is that of the result.
  bool keeps_integers(const std::vector<NodeId>& nodes, const QParams& result) const {
    constexpr OpId kMoving[] = {OpId::kMaxPool,   OpId::kReshape,   OpId::kFlatten, OpId::kSqueeze,
                                OpId::kUnsqueeze, OpId::kTranspose, OpId::kSlice,   OpId::kSplit,
                                OpId::kResize,    OpId::kConcat};
    if (nodes.size() != 1) return false;
    const Node& n = g_.node(nodes[0]);
    if (std::find(std::begin(kMoving), std::end(kMoving), n.op) == std::end(kMoving)) return false;
    const auto same = [&](ValueId v) {
      if (v == kNoValue || g_.value(v).dtype != DType::kF32) return true;
      const ValueId there = pairs_.value[at(v)];
      const auto r = there == kNoValue ? std::nullopt : rounding_of(q_, users_, there);
      return r && r->params.scale == result.scale && r->params.zero_point == result.zero_point;
    };
    return std::all_of(n.inputs.begin(), n.inputs.end(), same);
  }

  std::optional<WeightReport> weight(NodeId id) {
    const Node &from = g_.node(id), &to = q_.node(pairs_.node[at(id)]);
    if (to.inputs.size() < 2 || from.inputs.size() < 2 || !g_.is_constant(from.inputs[1]))
      return std::nullopt;
    HostTensor bytes, scale, reals;
    if (dequantized(to.inputs[1]) && local_.fixed(to.inputs[1])) {
      const Node& n = q_.node(q_.value(to.inputs[1]).producer);
      if (!q_.is_constant(n.inputs[0]) || !q_.is_constant(n.inputs[1])) return std::nullopt;
      bytes = q_.value(n.inputs[0]).constant;
      scale = q_.value(n.inputs[1]).constant;
      reals = local_.value(to.inputs[1]);
    } else if (to.op == OpId::kDynamicLinear && q_.is_constant(to.inputs[1])) {
      const auto params = constant_params(q_, to, 2, to.inputs.size(), 0, DType::kI8);
      if (!params) return std::nullopt;
      bytes = q_.value(to.inputs[1]).constant;
      scale = q_.value(to.inputs[2]).constant;
      reals = to_reals(bytes, *params);
    }
    return weight_report(g_.value(from.inputs[1]).constant, bytes.dtype(), scale, reals);
  }

  static std::optional<WeightReport> weight_report(const HostTensor& w, DType dtype,
                                                   const HostTensor& scale,
                                                   const HostTensor& reals) {
    if (w.dtype() != DType::kF32 || w.numel() == 0 || !reals.present() ||
        !(reals.shape() == w.shape()))
      return std::nullopt;
    WeightReport r;
    r.dtype = dtype;
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

  const Graph &g_, &q_;
  const Pairs& pairs_;
  LocalRun& local_;
  std::vector<std::string>* notes_;
  const std::vector<std::vector<NodeId>> float_users_, users_;
  std::map<NodeId, std::string> reasons_;
  std::vector<bool> stands_;  // by the quantized graph's NodeId: it has a float counterpart
  std::vector<Layer> layers_;
};

}  // namespace

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
    const int before = axes[at(n.inputs[0])];
    if (n.op == OpId::kConv || n.op == OpId::kConvTranspose) {
      axes[at(n.outputs[0])] = 1;
    } else if (n.op == OpId::kReshape || n.op == OpId::kFlatten) {
      axes[at(n.outputs[0])] = -1;
    } else if (n.op == OpId::kTranspose) {
      if (before < 0) axes[at(n.outputs[0])] = -1;
    } else if (n.op != OpId::kLinear && n.op != OpId::kMatMul && x.shape.rank() == y.shape.rank()) {
      for (ValueId v : n.outputs) axes[at(v)] = before;
    }
  }
  for (size_t v = 0; v < axes.size(); ++v) {  // the number of channels must be fixed
    const ir::Value& value = g.value(static_cast<ValueId>(v));
    if (axes[v] >= 0 && value.ranked &&
        (axes[v] >= value.shape.rank() || !value.shape[axes[v]].known()))
      axes[v] = -1;
  }
  return axes;
}

std::vector<Layer> find_layers(const Graph& graph, const QuantizeResult& quantized,
                               const Pairs& pairs, LocalRun& local,
                               std::vector<std::string>* notes) {
  return Finder(graph, quantized, pairs, local, notes).run();
}

}  // namespace wick::quantize
