#include "graph/rewrite/substitution.h"
#include "quantize/passes/passes.h"

namespace wick::quantize {
namespace {

using ir::Graph;
using ir::Node;
using ir::NodeId;
using ir::ValueId;

HostTensor transposed(const HostTensor& w) {
  const int64_t rows = w.shape()[0], columns = w.shape()[1];
  HostTensor t(DType::kF32, Shape{columns, rows});
  for (int64_t i = 0; i < rows; ++i) {
    for (int64_t k = 0; k < columns; ++k)
      t.as<float>()[k * rows + i] = w.as<float>()[i * columns + k];
  }
  return t;
}

// Returns the Add that adds a constant vector to v and is its only reader; -1: there is none.
NodeId bias_behind(const Graph& g, ValueId v, int64_t outputs,
                   const std::vector<std::vector<NodeId>>& users, ValueId* bias) {
  if (g.is_output(v) || users[static_cast<size_t>(v)].size() != 1) return -1;
  const NodeId id = users[static_cast<size_t>(v)][0];
  const Node& add = g.node(id);
  if (add.op != OpId::kAdd) return -1;
  *bias = add.inputs[0] == v ? add.inputs[1] : add.inputs[0];
  if (!g.is_constant(*bias)) return -1;
  const HostTensor& b = g.value(*bias).constant;
  return b.dtype() == DType::kF32 && b.shape() == Shape{outputs} ? id : -1;
}

}  // namespace

bool matmul_to_linear(Graph& g) {
  const auto users = g.users();
  const size_t count = g.node_count();
  bool changed = false;
  for (size_t i = 0; i < count; ++i) {
    const auto id = static_cast<NodeId>(i);
    const Node& n = g.node(id);
    if (n.op != OpId::kMatMul || !g.is_constant(n.inputs[1])) continue;
    const ir::Value &x = g.value(n.inputs[0]), &w = g.value(n.inputs[1]);
    if (x.dtype != DType::kF32 || !x.ranked || x.shape.rank() < 2 ||
        w.constant.shape().rank() != 2 || g.is_constant(n.inputs[0]) || w.constant.numel() == 0)
      continue;
    HostTensor t = transposed(w.constant);
    const int64_t outputs = t.shape()[0];
    const std::string weight_name = w.name.empty() ? "" : w.name + ".T";
    ValueId bias = ir::kNoValue;
    const NodeId add = bias_behind(g, n.outputs[0], outputs, users, &bias);
    const ValueId weight = g.add_constant(std::move(t), weight_name, true);
    // This is done in place: the result of the last node keeps its id, its name and its readers.
    Node& linear = g.node(id);
    linear.op = OpId::kLinear;
    linear.attrs = ir::NodeAttrs::of(NoAttrs{});
    linear.inputs[1] = weight;
    if (add >= 0) {
      linear.inputs.push_back(bias);
      std::swap(linear.outputs, g.node(add).outputs);
      g.value(linear.outputs[0]).producer = id;
      g.value(g.node(add).outputs[0]).producer = add;
      g.remove_node(add);
    }
    changed = true;
  }
  if (changed) g.compact();
  return changed;
}

}  // namespace wick::quantize
