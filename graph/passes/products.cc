// Gives float layers the order of products that makes them faster (docs/numerics.md, "Numerics that
// a model chooses"): Winograd's or pairs of bf16, where they apply and pay.
#include "runtime/ops/products.h"
#include "graph/rewrite/pass.h"

namespace wick::ir {
namespace {

// With fewer channels, what is done beside the products costs as much as they save. From 30 on,
// Winograd's order is apart from the exact one by no more than `reassociates` allows, as
// docs/numerics.md proves.
constexpr int64_t kLeastChannels = 32;
// A map of fewer rows or columns fills too little of Winograd's tiles.
constexpr int64_t kLeastExtent = 4;

ConvAttrs* conv_attrs(Node& n) {
  if (n.op == OpId::kConv) return &n.attrs.as<ConvAttrs>();
  return n.op == OpId::kFusedConv ? &n.attrs.as<FusedConvAttrs>().conv : nullptr;
}

// Returns the shape of the weights where it is known and large enough; rank 0: it is not.
Shape large_weight(const Graph& g, const Node& n, int rank) {
  const Value& w = g.value(n.inputs[1]);
  if (!w.ranked || w.shape.rank() < rank || !is_static(w.shape)) return {};
  const Shape shape = to_static(w.shape);
  return shape[0] < kLeastChannels || shape[1] < kLeastChannels ? Shape{} : shape;
}

bool fills_tiles(const Value& y) {
  for (int d = 2; y.ranked && d < y.shape.rank(); ++d) {
    if (y.shape[d].known() && y.shape[d].constant() < kLeastExtent) return false;
  }
  return true;
}

// Returns whether the node is a Linear, or a MatMul by a matrix, and of which fused op it is a
// case.
OpId fused_form(const Graph& g, const Node& n) {
  if (n.op == OpId::kLinear || n.op == OpId::kFusedLinear) return OpId::kFusedLinear;
  if (n.op == OpId::kFusedMatMul) return n.op;
  const bool matrix = n.op == OpId::kMatMul && g.value(n.inputs[0]).ranked &&
                      g.value(n.inputs[0]).shape.rank() > 1 && g.value(n.inputs[1]).ranked &&
                      g.value(n.inputs[1]).shape.rank() == 2;
  return matrix ? OpId::kFusedMatMul : OpId::kNone;
}

bool ask_conv(const Graph& g, Node& n, Products products) {
  ConvAttrs* attrs = conv_attrs(n);
  if (attrs == nullptr || attrs->products != 0) return false;
  const Shape w = large_weight(g, n, 3);
  ConvAttrs asked = *attrs;
  asked.products = static_cast<int64_t>(products);
  const DType x = g.value(n.inputs[0]).dtype;
  const bool applies = products == Products::kWinograd
                           ? takes_winograd(x, w, asked) && fills_tiles(g.value(n.outputs[0]))
                           : w.rank() > 0 && takes_pairs(x, w, asked);
  if (applies) *attrs = asked;
  return applies;
}

bool ask_linear(const Graph& g, Node& n) {
  const OpId op = fused_form(g, n);
  if (op == OpId::kNone || !g.is_constant(n.inputs[1])) return false;
  EpilogueAttrs asked;
  if (n.op == op) asked = n.attrs.as<EpilogueAttrs>();
  if (asked.products != 0 || large_weight(g, n, 2).rank() == 0) return false;
  asked.products = static_cast<int64_t>(Products::kBf16);
  if (!takes_pairs(g.value(n.inputs[0]).dtype, asked)) return false;
  n.op = op;
  n.attrs = NodeAttrs::of(asked);
  return true;
}

}  // namespace

bool winograd_convolutions(Graph& g) {
  bool changed = false;
  for (size_t i = 0; i < g.node_count(); ++i) {
    Node& n = g.node(static_cast<NodeId>(i));
    changed = ask_conv(g, n, Products::kWinograd) || changed;
  }
  return changed;
}

bool bf16_products(Graph& g) {
  bool changed = false;
  for (size_t i = 0; i < g.node_count(); ++i) {
    Node& n = g.node(static_cast<NodeId>(i));
    changed = ask_conv(g, n, Products::kBf16) || ask_linear(g, n) || changed;
  }
  return changed;
}

}  // namespace wick::ir
