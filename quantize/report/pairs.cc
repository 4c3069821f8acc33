#include "quantize/report/pairs.h"

#include <algorithm>
#include <tuple>

#include "quantize/passes/plan.h"
#include "runtime/registry/registry.h"
#include "wick/error.h"

namespace wick::quantize {
namespace {

using ir::Graph;
using ir::kNoValue;
using ir::Node;
using ir::NodeId;
using ir::ValueId;

bool is_rounding(const Node& n) {
  return n.op == OpId::kQuantizeLinear || n.op == OpId::kDequantizeLinear;
}

class Pairer {
 public:
  Pairer(const Graph& g, const Graph& q) : g_(g), q_(q), taken_(q.node_count(), false) {
    pairs_.node.resize(g.node_count(), -1);
    pairs_.value.resize(g.value_count(), kNoValue);
  }

  Pairs run() {
    inputs();
    alike();
    by_name();
    return std::move(pairs_);
  }

 private:
  void inputs() {
    bool same = g_.inputs().size() == q_.inputs().size();
    for (size_t i = 0; same && i < g_.inputs().size(); ++i) {
      same = g_.value(g_.inputs()[i]).name == q_.value(q_.inputs()[i]).name;
      pairs_.value[static_cast<size_t>(g_.inputs()[i])] = q_.inputs()[i];
    }
    if (!same) throw_error("compare", "the two graphs have other inputs: they are of two models");
  }

  void alike() {
    std::map<std::tuple<OpId, std::string, std::string>, std::vector<NodeId>> there;
    for (size_t i = 0; i < q_.node_count(); ++i) {
      const Node& n = q_.node(static_cast<NodeId>(i));
      if (!n.removed() && !is_rounding(n))
        there[{n.op, n.name, n.module}].push_back(static_cast<NodeId>(i));
    }
    std::map<std::tuple<OpId, std::string, std::string>, size_t> next;
    for (size_t i = 0; i < g_.node_count(); ++i) {
      const Node& n = g_.node(static_cast<NodeId>(i));
      if (n.removed()) continue;
      const auto key = std::make_tuple(n.op, n.name, n.module);
      const std::vector<NodeId>& list = there[key];
      if (size_t& at = next[key]; at < list.size()) pair(static_cast<NodeId>(i), list[at++]);
    }
  }

  void by_name() {
    std::map<std::string, NodeId> there;
    for (size_t i = 0; i < q_.node_count(); ++i) {
      const Node& n = q_.node(static_cast<NodeId>(i));
      if (!n.removed() && !taken_[i] && !n.name.empty())
        there.emplace(n.name, static_cast<NodeId>(i));
    }
    for (size_t i = 0; i < g_.node_count(); ++i) {
      if (g_.node(static_cast<NodeId>(i)).removed() || pairs_.node[i] >= 0) continue;
      const std::string name = display_name(g_, static_cast<NodeId>(i));
      for (const std::string& as : {name, name + ".dequantize"}) {
        const auto found = there.find(as);
        if (found == there.end() || taken_[static_cast<size_t>(found->second)]) continue;
        pair(static_cast<NodeId>(i), found->second);
        break;
      }
    }
  }

  void pair(NodeId from, NodeId to) {
    const Node &a = g_.node(from), &b = q_.node(to);
    if (a.outputs.size() != b.outputs.size()) return;
    pairs_.node[static_cast<size_t>(from)] = to;
    taken_[static_cast<size_t>(to)] = true;
    for (size_t k = 0; k < a.outputs.size(); ++k)
      pairs_.value[static_cast<size_t>(a.outputs[k])] = b.outputs[k];
  }

  const Graph &g_, &q_;
  std::vector<bool> taken_;
  Pairs pairs_;
};

}  // namespace

Pairs pair_graphs(const Graph& graph, const Graph& quantized) {
  return Pairer(graph, quantized).run();
}

std::optional<QParams> constant_params(const Graph& g, const Node& n, size_t scale, size_t zero,
                                       int64_t axis, DType dtype) {
  if (n.inputs.size() <= scale || !g.is_constant(n.inputs[scale])) return std::nullopt;
  QParams q;
  q.dtype = dtype;
  const HostTensor& s = g.value(n.inputs[scale]).constant;
  if (!is_float(s.dtype())) return std::nullopt;
  for (int64_t i = 0; i < s.numel(); ++i)
    q.scale.push_back(static_cast<float>(element_as_double(s, i)));
  q.zero_point.resize(q.scale.size(), 0);
  if (n.inputs.size() > zero && n.inputs[zero] != kNoValue) {
    if (!g.is_constant(n.inputs[zero])) return std::nullopt;
    const HostTensor& z = g.value(n.inputs[zero]).constant;
    for (int64_t i = 0; i < std::min(z.numel(), s.numel()); ++i)
      q.zero_point[static_cast<size_t>(i)] = static_cast<int32_t>(element_as_double(z, i));
  }
  if (s.numel() > 1) q.axis = axis;
  return q;
}

std::optional<Rounding> rounding_of(const Graph& q, const std::vector<std::vector<NodeId>>& users,
                                    ValueId value) {
  for (NodeId id : users[static_cast<size_t>(value)]) {
    const Node& n = q.node(id);
    if (n.op != OpId::kQuantizeLinear || n.inputs[0] != value) continue;
    const DType dtype = q.value(n.outputs[0]).dtype;
    const auto params = constant_params(q, n, 1, 2, n.attrs.as<QuantizeAttrs>().axis, dtype);
    if (!params) continue;
    for (NodeId reader : users[static_cast<size_t>(n.outputs[0])]) {
      if (q.node(reader).op == OpId::kDequantizeLinear && q.node(reader).inputs[0] == n.outputs[0])
        return Rounding{id, reader, *params};
    }
  }
  return std::nullopt;
}

}  // namespace wick::quantize
