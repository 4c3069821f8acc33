// Gives float convolutions the order of products that makes them faster (docs/numerics.md,
// "Numerics that a model chooses"): Winograd's, where it applies and pays.
#include "runtime/ops/products.h"
#include "graph/rewrite/pass.h"

namespace wick::ir {
namespace {

// With fewer channels the transforms cost what the products save; from 30 on, the two orders are
// apart by no more than `reassociates` allows, as docs/numerics.md proves.
constexpr int64_t kLeastChannels = 32;
// A map of fewer rows or columns fills too little of its 2x2 tiles.
constexpr int64_t kLeastExtent = 4;

ConvAttrs* conv_attrs(Node& n) {
  if (n.op == OpId::kConv) return &n.attrs.as<ConvAttrs>();
  return n.op == OpId::kFusedConv ? &n.attrs.as<FusedConvAttrs>().conv : nullptr;
}

bool pays(const Graph& g, const Node& n, const ConvAttrs& winograd) {
  const Value &x = g.value(n.inputs[0]), &w = g.value(n.inputs[1]), &y = g.value(n.outputs[0]);
  if (!w.ranked || !is_static(w.shape)) return false;
  const Shape weight = to_static(w.shape);
  if (!takes_winograd(x.dtype, weight, winograd)) return false;
  if (weight[0] < kLeastChannels || weight[1] < kLeastChannels) return false;
  for (int d = 2; y.ranked && d < y.shape.rank(); ++d) {
    if (y.shape[d].known() && y.shape[d].constant() < kLeastExtent) return false;
  }
  return true;
}

}  // namespace

bool winograd_convolutions(Graph& g) {
  bool changed = false;
  for (size_t i = 0; i < g.node_count(); ++i) {
    Node& n = g.node(static_cast<NodeId>(i));
    ConvAttrs* attrs = conv_attrs(n);
    if (attrs == nullptr || attrs->products != 0) continue;
    ConvAttrs asked = *attrs;
    asked.products = static_cast<int64_t>(Products::kWinograd);
    if (!pays(g, n, asked)) continue;
    *attrs = asked;
    changed = true;
  }
  return changed;
}

}  // namespace wick::ir
