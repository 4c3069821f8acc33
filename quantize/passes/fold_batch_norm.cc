#include <cmath>

#include "graph/rewrite/substitution.h"
#include "quantize/passes/passes.h"

namespace wick::quantize {
namespace {

using ir::Graph;
using ir::kNoValue;
using ir::Node;
using ir::NodeId;
using ir::ValueId;

bool is_real_constant(const Graph& g, ValueId v) {
  return g.is_constant(v) && g.value(v).dtype == DType::kF32;
}

// Returns the layer before the batch norm whose weights can absorb it, or -1.
NodeId layer_of(const Graph& g, const Node& norm, const std::vector<std::vector<NodeId>>& users,
                const ir::Substitution& sub) {
  const ValueId x = norm.inputs[0];
  const Node* layer = ir::producer_of(g, x);
  if (layer == nullptr || users[static_cast<size_t>(x)].size() != 1 || sub.is_output(x)) return -1;
  const bool conv = layer->op == OpId::kConv;
  // Linear's channels are its last axis, batch norm's the second.
  const bool linear =
      layer->op == OpId::kLinear && g.value(x).ranked && g.value(x).shape.rank() == 2;
  if ((!conv && !linear) || !is_real_constant(g, layer->inputs[1])) return -1;
  if (layer->inputs.size() > 2 && layer->inputs[2] != kNoValue &&
      !is_real_constant(g, layer->inputs[2]))
    return -1;
  for (size_t i = 1; i < 5; ++i) {
    if (!is_real_constant(g, norm.inputs[i]) || g.value(norm.inputs[i]).constant.numel() == 0)
      return -1;
  }
  return g.value(x).producer;
}

void fold(Graph& g, const Node& norm, NodeId id) {
  const HostTensor gamma = g.value(norm.inputs[1]).constant,
                   beta = g.value(norm.inputs[2]).constant, mean = g.value(norm.inputs[3]).constant,
                   var = g.value(norm.inputs[4]).constant;
  const double epsilon = norm.attrs.as<BatchNormAttrs>().epsilon;
  std::vector<ValueId> in = g.node(id).inputs;
  const ir::Value& weight = g.value(in[1]);
  const bool biased = in.size() > 2 && in[2] != kNoValue;
  const int64_t channels = gamma.numel(), each = weight.constant.numel() / channels;
  HostTensor w(DType::kF32, weight.constant.shape()), b(DType::kF32, Shape{channels});
  for (int64_t c = 0; c < channels; ++c) {
    const double scale = gamma.as<float>()[c] / std::sqrt(var.as<float>()[c] + epsilon);
    for (int64_t i = c * each; i < (c + 1) * each; ++i)
      w.as<float>()[i] = static_cast<float>(weight.constant.as<float>()[i] * scale);
    const double from = biased ? g.value(in[2]).constant.as<float>()[c] : 0;
    b.as<float>()[c] =
        static_cast<float>((from - mean.as<float>()[c]) * scale + beta.as<float>()[c]);
  }
  const std::string weight_name = weight.name,
                    bias_name = biased ? g.value(in[2]).name : g.value(norm.inputs[2]).name;
  in.resize(3);
  in[1] = g.add_constant(std::move(w), weight_name, true);
  in[2] = g.add_constant(std::move(b), bias_name, true);
  g.node(id).inputs = std::move(in);
}

}  // namespace

bool fold_batch_norm(Graph& g) {
  const auto users = g.users();
  ir::Substitution sub(g);
  const size_t count = g.node_count();
  for (size_t i = 0; i < count; ++i) {
    const auto id = static_cast<NodeId>(i);
    Node& n = g.node(id);
    sub.apply(n);
    if (n.op != OpId::kBatchNorm || sub.is_output(n.inputs[0])) continue;
    const NodeId layer = layer_of(g, n, users, sub);
    if (layer < 0 || !sub.may_replace(n.outputs[0], n.inputs[0])) continue;
    fold(g, g.node(id), layer);
    sub.drop(id, g.node(id).inputs[0]);
  }
  if (!sub.finish()) return false;
  g.compact();
  return true;
}

}  // namespace wick::quantize
