#include "tools/lib/products.h"

#include <fmt/core.h>

#include "runtime/ops/products.h"

namespace wick::tool {
namespace {

void count(OpId op, const void* attrs, ProductCounts* counts) {
  if (op != OpId::kConv && op != OpId::kFusedConv) return;
  ++counts->convolutions;
  if (products_of(op, attrs) == Products::kWinograd) ++counts->winograd;
}

void count(const ir::Graph& graph, ProductCounts* counts) {
  for (const ir::Node& n : graph.nodes()) {
    count(n.op, n.attrs.get(), counts);
    for (const ir::Graph& region : n.regions) count(region, counts);
  }
}

}  // namespace

ProductCounts product_counts(const ir::Graph& graph) {
  ProductCounts counts;
  count(graph, &counts);
  return counts;
}

ProductCounts product_counts(const Program& program) {
  ProductCounts counts;
  for (const RegionDef& region : program.entries()[0].regions) {
    for (const NodeDef& n : region.nodes) count(n.op, n.attrs, &counts);
  }
  return counts;
}

std::string products_text(const ProductCounts& counts) {
  return fmt::format("{} of {} convolutions by Winograd's F(2x2, 3x3)", counts.winograd,
                     counts.convolutions);
}

}  // namespace wick::tool
