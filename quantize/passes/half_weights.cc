#include "quantize/passes/half_weights.h"

#include <cmath>

#include "quantize/passes/plan.h"
#include "quantize/passes/quantize.h"
#include "runtime/core/half.h"
#include "runtime/registry/registry.h"
#include "wick/error.h"

namespace wick::quantize {

using ir::Graph;
using ir::kNoValue;
using ir::Node;
using ir::NodeId;
using ir::ValueId;

bool is_weight(const Graph& g, const Node& n, size_t i) {
  if (i >= n.inputs.size() || n.inputs[i] == kNoValue || !g.is_constant(n.inputs[i])) return false;
  const ir::Value& v = g.value(n.inputs[i]);
  if (v.dtype != DType::kF32 || v.constant.shape().rank() < 2) return false;
  const bool table = i == 0 && (n.op == OpId::kGather || n.op == OpId::kMatMul);
  return table || input_role(n.op, i) == 'w';
}

HostTensor rounded_to(const HostTensor& weight, DType dtype) {
  HostTensor out(DType::kF32, weight.shape());
  const float* from = weight.as<float>();
  float* to = out.as<float>();
  for (int64_t i = 0; i < weight.numel(); ++i) {
    to[i] = dtype == DType::kF16 ? static_cast<float>(Half(from[i]))
                                 : static_cast<float>(BFloat16(from[i]));
    if (!std::isfinite(to[i]) && std::isfinite(from[i])) return {};
  }
  return out;
}

namespace {

// Returns why a weight of a node is not rounded, of those that is_weight() leaves out or that have
// no number to round; "" if there is none.
std::string unrounded(const Graph& g, const Node& n) {
  for (size_t i = 0; i < n.inputs.size(); ++i) {
    if (n.inputs[i] == kNoValue || !g.is_constant(n.inputs[i])) continue;
    const HostTensor& w = g.value(n.inputs[i]).constant;
    const bool table = i == 0 && (n.op == OpId::kGather || n.op == OpId::kMatMul);
    if (!is_float(w.dtype()) || w.shape().rank() < 2 || !(table || input_role(n.op, i) == 'w'))
      continue;
    if (w.dtype() != DType::kF32)
      return std::string("its weight is ") + dtype_name(w.dtype()) + ", only float32 is quantized";
    for (int64_t k = 0; k < w.numel(); ++k) {
      if (!std::isfinite(w.as<float>()[k])) return "its weight has NaN or infinite numbers";
    }
  }
  return "";
}

// Rounder replaces weights by rounded ones, each once for all nodes that round it.
class Rounder {
 public:
  Rounder(Graph* g, DType to) : g_(*g), to_(to) {}

  // Rounds the weights of a node. Returns false for one beyond the type's range, which stays.
  bool round(NodeId id) {
    bool all = true;
    for (size_t i = 0; i < g_.node(id).inputs.size(); ++i) {
      if (!is_weight(g_, g_.node(id), i)) continue;
      const ValueId from = g_.node(id).inputs[i];
      const auto [at, fresh] = made_.emplace(from, kNoValue);
      if (fresh) {
        HostTensor rounded = rounded_to(g_.value(from).constant, to_);
        if (rounded.present())
          at->second = g_.add_constant(std::move(rounded), g_.value(from).name, true);
      }
      all = all && at->second != kNoValue;
      if (at->second != kNoValue) g_.node(id).inputs[i] = at->second;
    }
    return all;
  }

 private:
  Graph& g_;
  const DType to_;
  std::map<ValueId, ValueId> made_;  // kNoValue: it stays
};

}  // namespace

Graph with_half_weights(const Graph& graph, const Recipe& recipe) {
  Graph g = graph;
  Rounder rounder(&g, DType::kF16);
  for (size_t k = 0; k < graph.node_count(); ++k) {
    const auto id = static_cast<NodeId>(k);
    if (g.node(id).removed()) continue;
    const std::string name = display_name(graph, id);
    const auto width = recipe.widths.find(name);
    if (width == recipe.widths.end() || width->second != Width::kF16) continue;
    if (!rounder.round(id))
      throw_error("quantize", name + ": its weight has numbers beyond float16's range");
  }
  return g;
}

QuantizeResult round_weights(const Graph& graph, const Recipe& recipe) {
  check(recipe);
  const std::vector<std::string> excluded = excluded_nodes(graph, recipe);
  QuantizeResult result;
  Graph& g = result.graph = graph;
  Rounder rounder(&g, recipe.mode == Mode::kBF16 ? DType::kBF16 : DType::kF16);
  for (size_t k = 0; k < graph.node_count(); ++k) {
    const auto id = static_cast<NodeId>(k);
    const Node& n = graph.node(id);
    if (n.removed()) continue;
    std::string reason = unrounded(graph, n);
    bool weighted = !reason.empty();
    for (size_t i = 0; i < n.inputs.size(); ++i) weighted = weighted || is_weight(graph, n, i);
    if (!weighted) continue;
    const OpInfo* op = op_info(n.op);
    if (!excluded[k].empty()) reason = excluded[k];
    if (reason.empty() && !rounder.round(id))
      reason = std::string("its weight has numbers beyond ") + mode_name(recipe.mode) + "'s range";
    if (!reason.empty())
      result.stayed.push_back(
          {id, display_name(graph, id), op == nullptr ? "unknown" : op->name, reason});
  }
  g.compact();
  ir::verify(g, "after round_weights");
  return result;
}

}  // namespace wick::quantize
